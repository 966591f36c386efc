"""Events of the event log.

catalogue.py        every event: name, level, fields, meaning
decided_events.py   turns the decisions of a durable round into events
cluster_news.py     events of what is read, not decided: brokers lost or returned, switches
config_news.py      the event of a change of dynamic configs
lease_events.py     events of configs of leases, also of those that others change
event_lines.py      the line of an event: written, read also as earlier releases wrote it, and when
                    it was recorded if clocks jump
listed_events.py    how lists show them: which are about a broker, and which are one line (SAME_REQUEST_MS)
notifications.py    which events webhooks report, how they wait for a receiver, how many a body has (MOST_EVENTS,
                    BODY_EVENTS)
"""
