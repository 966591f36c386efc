"""From the start of the process to its end, and each term as the controller in between.

server_process       one server: its parts, in the order of their start
client_listeners     the listeners for clients and brokers, and the node that they find there
served_http          `/metrics`, `/health`, `/ready`, and the status page
role_and_readiness   the role of this server, and what metrics show of it
server_config        the settings of one server at its start, with their defaults
supervisor           takes part in elections; runs a term whenever this server is elected; when it tries again (RETRY_S)
term                 one term: load, fail over, propagate, watch, work
term_duties          the duties of a term, and what one finds for the others to do
standby              what a server knows that is not the controller
standby_ids          which id each topic has, as it knows
kraft_brokers        which brokers are live while a KRaft controller controls them
moves_service        the controller of moves as the APIs call it; NOT_CONTROLLER where it is none
controller_service   that of brokers, topics and leaders
server_node          this server as clients see it
cluster_lookup       which cluster is in ZooKeeper, and whether there is one to join
served_status        what the status page sees of this server
brokers_door         what a server without an authorizer does where the brokers have one
own_tls              TLS handshakes of the server with itself, before it controls and each hour (EVERY_S)
served_acls          ACLs as clients find and change them
server_registration  the id of this server, which no other server has
"""
