"""Events of the event log.

decided_events.py  turns the decisions of a durable round into events
"""
