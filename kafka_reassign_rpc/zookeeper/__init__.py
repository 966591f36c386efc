"""ZooKeeper: a client with one session, fenced transactions, bulk reads and watches; and the contents of the znodes.

zookeeper_client.py              `ZooKeeper`, the client
zookeeper_session.py             the session below it: connecting, keeping it alive, knowing exactly when it is over
tcp_connection.py                one TCP connection to one ZooKeeper server
connect_string.py                `zookeeper.connect`
access.py                        TLS, login and ACLs of a client
access_settings.py               the same by Kafka's settings
operations.py                    operations of a transaction, Stat, kinds of watch events
transactions.py                  splitting by size, the controller epoch as a fence, pipelining; receipts, which tell
                                 what became of transactions whose answers were lost
jute.py                          packets that are sent by the thousand
zookeeper_errors.py              what a call can end in: sent or not, done or not
znode_paths.py                   the paths of all znodes
znode_acls.py                    which ACL a new znode gets
znode_decoder.py                 the one decoder of JSON and numbers in znodes, and their limits; BadZnode
topic_znodes.py                  /brokers/topics: topics, and the states of their partitions
znode_contents.py                brokers, failed brokers, the controller, configs, ids
config_znodes.py                 /config: dynamic configs and their announcement
quota_znodes.py                  /config of users, clients and IPs: quotas and SCRAM credentials
served_configs.py                configs and quotas as clients read and change them
acl_znodes.py                    /kafka-acl: ACLs and their announcement
delegation_token_znodes.py       /delegation_token
notification_znodes.py           what brokers and tools tell the controller
failed_log_dirs_znodes.py        /admin/failed_log_dirs
reassignments_znodes.py          /admin/reassignments: the records of moves
reassign_partitions_znode.py     /admin/reassign_partitions and the queue
requester_json.py                who asked for a move or has set a setting
reassignment_request_znodes.py   /admin/reassignment_requests
reassignment_servers_znodes.py   /admin/reassignment_servers: the running servers
entry_problems.py                what is wrong with a list of moves in a znode
settings_znode.py                /admin/reassignment_settings: the settings of all servers
last_control_znode.py            /admin/reassignment_last_control: when a server of ours has controlled the cluster last
throttle_memory_znodes.py        /admin/reassignment_throttles
"""
