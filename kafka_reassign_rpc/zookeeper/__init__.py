"""ZooKeeper: a client with one session, fenced transactions, bulk reads and watches; and the contents of the znodes.

zookeeper_client.py              `ZooKeeper`, the client: its calls on znodes, transactions, watches
zookeeper_session.py             the session below it: connecting, keeping it alive, knowing exactly when it is over
tcp_connection.py                one TCP connection to one ZooKeeper server
connect_string.py                `zookeeper.connect`
operations.py                    operations of a transaction, Stat, kinds of watch events
transactions.py                  splitting by size, the controller epoch as a fence, pipelining
jute.py                          encoding and decoding of packets that are sent by the thousand
zookeeper_errors.py              what a call can end in: sent or not, done or not
znode_paths.py                   the paths of all znodes
znode_contents.py                the contents of Kafka's znodes and of failed brokers
config_znodes.py                 /config: dynamic configs and their announcement
reassignments_znodes.py          /admin/reassignments: the records of moves
reassign_partitions_znode.py     /admin/reassign_partitions and the queue
reassignment_request_znodes.py   /admin/reassignment_requests
throttle_memory_znodes.py        /admin/reassignment_throttles
"""
