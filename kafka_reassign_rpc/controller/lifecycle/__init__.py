"""From the start of the process to its end, and each term as the controller in between.

server_process       one server: ZooKeeper session, listeners, election, `/metrics`
server_config        what one server is told at its start
supervisor           takes part in elections; runs a term whenever this server is elected
term                 one term: load, fail over, propagate, watch, work
standby              what a server knows that is not the controller
controller_service   the controller as the APIs call it
server_node          this server as clients see it
cluster_lookup       which cluster is in ZooKeeper, and whether there is one
served_status        what the status page sees of this server
brokers_door         what a server without an authorizer does where the brokers have one
served_acls          ACLs as clients find and change them
server_registration  the id of this server, which no other has
"""
