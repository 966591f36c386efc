"""Events of the event log.

catalogue.py        every event: name, level, fields, meaning
decided_events.py   turns the decisions of a durable round into events
cluster_news.py     events of what is read, not decided: brokers lost or returned, switches, configs, also of leases
event_lines.py      the line of an event: written, read also as earlier releases wrote it, and when
                    it was recorded if clocks jump; how lists show events: which are about a broker, and which
                    are one line (SAME_REQUEST_MS)
notifications.py    which events webhooks report, how they wait for a receiver, how many a body has (MOST_EVENTS,
                    BODY_EVENTS)
"""
