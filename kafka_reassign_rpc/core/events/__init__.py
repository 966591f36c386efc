"""Events of the event log.

catalogue.py        every event: name, level, fields, meaning
decided_events.py   turns the decisions of a durable round into events
move_requesters.py  who asked for the moves in flight and waiting
"""
