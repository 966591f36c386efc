"""The listening side of a node: sockets, frames, limits. A `Service` answers the requests.

server.py               a server from its first bind to its last answer
listener.py             where to listen, and how to stop listening without losing a connection
server_connection.py    one connection: when to read, when to work, when to write
open_connections.py     all open connections of a server: admission, shared budgets, idle and slow ones
large_work.py           room for large requests: how many are in work at the same time
server_limits.py        the limits on frames, requests and connections, by Kafka's names; their bookkeeping
request_service.py      what answers the requests (`api.dispatch.Dispatcher`)
server_stats.py         counters for metrics
http_server.py          the pages for metrics and health
event_loop.py           uvloop or asyncio
interpreter_tuning.py   garbage collection and thread switching, so that they do not hold up the event loop
"""
