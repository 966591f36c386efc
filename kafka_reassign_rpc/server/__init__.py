"""The listening side of a node: sockets, frames, limits. A `Service` answers the requests.

server.py             a server from its first bind to its last answer; how long it drains (`close`)
listener.py           where to listen, and how to stop listening without losing a connection; how many come in at a turn
                      (ACCEPTED_IN_A_TURN); how it secures its connections; how many TLS handshakes run
                      (MOST_UNDER_WAY), and which has to go
sasl_sources.py       what SASL needs of files and issuers, kept up to date (LOOKS_EVERY_S, FETCH_S)
server_connection.py  one connection: when to read, when to work, when to write
connection_states.py  the states of a connection and how they follow each other, as tables; whether a connection is
                      read, and what it holds of the shared bytes
request_answers.py    from a frame to its answer; answers to the transport, piece by piece; how long a client is muted
                      for what its requests cost, which never are (EXEMPT); how often its quota is looked up (KNOWN_MS)
connection_guard.py   frames of a connection that go to its authenticator
open_connections.py   all open connections of a server: who may come in, who has to go, and what the log says of them
                      (LOGGED); how many there are, in all and from one address, against their limits; which one closes
                      to make room for another
request_budgets.py    places, bytes and tasks that the requests of all connections share; how many large requests are in
                      work at the same time (LARGE_BYTES_IN_WORK, …)
connection_times.py   which connections are out of time
process_limits.py     how many connections the process can open (MOST_CONNECTIONS; KEPT for other files); no core dumps,
                      which would hold keys; uvloop or asyncio; garbage collection and thread switching (SWITCH_S,
                      COLLECT_EVERY_S), so that they do not hold up the event loop
server_limits.py      the limits on frames, requests and connections, by Kafka's names, with their defaults; counters
                      for metrics
http_server.py        the pages for metrics and health, and the limits on their connections (MAX_CONNECTIONS, LIVES_S,
                      …); who may read them
"""
