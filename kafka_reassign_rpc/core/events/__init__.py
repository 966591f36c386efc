"""Events of the event log.

catalogue.py        every event: name, level, fields, meaning
decided_events.py   turns the decisions of a durable round into events
requesters.py       who asked for a decision
move_requesters.py  who asked for the moves in flight and waiting
"""
