"""ZooKeeper: a client with one session, fenced transactions, bulk reads and watches; and the contents of the znodes.

zookeeper_client.py      `ZooKeeper`, the client; how long a session lasts, how many reads are in flight
                         (SESSION_TIMEOUT_MS, READS_IN_FLIGHT)
zookeeper_session.py     the session below it, which knows exactly when it is over
tcp_connection.py        one TCP connection to one server; the largest frames (MAX_FRAME, MAX_ANSWER)
access.py                TLS and login of a client, and which ACL a new znode gets, by Kafka's settings
operations.py            operations of a transaction, Stat, kinds of watch events
transactions.py          splitting by size (MAX_MULTI_BYTES), fencing, pipelining; receipts for answers that are lost
jute.py                  packets that are sent by the thousand
zookeeper_errors.py      what a call can end in: sent or not, done or not
znode_paths.py           the paths of all znodes
znode_decoder.py         the one decoder of JSON and numbers in znodes; BadZnode; how large a znode may be (LARGEST);
                         collects what is wrong with a list of moves, and bounds it (REPORTED, MAX_WRONG): the texts are
                         in the modules of the znodes; who asked for a move or has set a setting
topic_znodes.py          topics, and the states of their partitions
znode_contents.py        brokers, failed brokers and log dirs, the controller, configs, ids, delegation tokens, what
                         brokers and tools report to the controller
config_znodes.py         dynamic configs and their announcement, and how old that gets (CHANGE_EXPIRATION_MS); quotas
                         and SCRAM credentials; follows what announcements name, and reads all again after a connection
served_configs.py        configs and quotas as clients read and change them
acl_znodes.py            ACLs and their announcement
reassignments_znodes.py  the records of moves
reassign_partitions_znode.py  the batch and the queue, and the text of what is wrong with an entry
reassignment_request_znodes.py  request znodes, and the text of what is wrong with one
own_server_znodes.py     the running servers, when one of them has controlled the cluster last, and what throttle leases
                         have replaced
settings_znode.py        the settings of all servers
"""
