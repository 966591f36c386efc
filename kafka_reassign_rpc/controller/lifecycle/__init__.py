"""From the start of the process to its end, and each term as the controller in between.

server_process       one server: its parts, in the order of their start; whether there is a cluster to join
client_listeners     the listeners for clients and brokers, and the node that they find there: this server
served_http          `/metrics`, `/health`, `/ready`, and the status page with what it sees of this server; the role of
                     this server, and what metrics show of it
server_config        the settings of one server at its start, with their defaults
supervisor           takes part in elections; runs a term whenever this server is elected; when it tries again (RETRY_S)
term                 one term: load, fail over, propagate, watch, work; what brokers know of topics that others may
                     have edited meanwhile; how long a failover waits for that (ANSWER_S)
term_duties          the duties of a term, and what one finds for the others to do; keeps the mark of the last control,
                     by which an absence is known (MARKED_EVERY_S)
standby              what a server knows that is not the controller: also which id each topic has, and which brokers
                     are live while a KRaft controller controls them
moves_service        the controller of moves as the APIs call it; NOT_CONTROLLER where it is none
controller_service   that of brokers, topics and leaders
own_tls              TLS handshakes of the server with itself, before it controls and each hour (EVERY_S)
served_acls          ACLs as clients find and change them, kept as they are in ZooKeeper
server_registration  the id of this server, which no other server has
"""
