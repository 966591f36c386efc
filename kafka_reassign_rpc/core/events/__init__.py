"""Events of the event log.

catalogue.py        every event: name, level, fields, meaning
decided_events.py   turns the decisions of a durable round into events
log_clock.py        when events were recorded, where clocks jump
move_requesters.py  who asked for the moves in flight and waiting
"""
