"""Looks at a cluster before a server takes part in it, and at what a controller is doing. Changes nothing.

check            asks ZooKeeper and the brokers, each within a time limit; who may read the server's secrets, and who
                 would take its certificates
read_state       what ZooKeeper holds
ask_brokers      what each broker answers; how many are asked at once (AT_ONCE)
unique_findings  what follows where names, numbers and ids are not unique that Kafka takes for that; what brokers say of
                 topics that have one id
znode_rights     whether the ACLs let a server in
znode_findings, broker_findings, authorizer_findings
                 what follows from that (pure); the principals with which brokers come to their controller
settings_findings
                 what follows from the settings that all servers share (pure)
restart_findings
                 what brokers read when they start, and what of it ends them, or stops a migration; dynamic configs
                 that brokers cannot live with
findings         OK, WARNING or UNSAFE, as text and JSON; the commands that cure what is found, as they can be run
                 (pure)
own_znodes       the znodes of this product that exist, and what of others is below them; what only a migration to KRaft
                 reads
kraft_findings   what keeps a cluster from its migration, or would be lost by it: what moves, throttles, settings,
                 topics, configs and ACLs (pure)
kraft_broker_findings
                 the same of the brokers' releases and log dirs (pure)
under_kraft_findings
                 what can be said once a KRaft controller has the cluster; configs that throttle replication (pure)
departure_findings
                 asks whether brokers may go, and what follows
read_status      reads the status from ZooKeeper: who is the controller, since when, and what is under way
"""
