"""Messages of this product that stock Kafka does not have, and what to do about them. `…` means what differs.

`tests/docs/test_generated.py` finds each of them in the code.
"""

MESSAGES = (
    (
        "No reassignment may be started: …. Cancellations are still possible.",
        "Reassignments were disabled: `kafka-reassign events --since 1d` says who. `--enable` ends it",
    ),
    (
        "The assignment is not the expected one: expected …, found …",
        "The partition was moved since the plan or file was made. Plan again, or leave it out",
    ),
    (
        "The replication factor is changed from … to …",
        "The option `--disallow-replication-factor-change`, or"
        " `partition.reassignments.replication.factor.change.allowed=false`, forbids it: name as many brokers as"
        " before. Or the request itself does, with AllowReplicationFactorChange=false, which kcl (franz-go) sends"
        " without being asked: change replication factors with `kafka-reassign` or Kafka's tool",
    ),
    (
        "No broker can have the id …: a reassignment server has taken it (/admin/reassignment_server_ids/…), and"
        " servers hold no replicas.",
        "The target names a server of this product. Name brokers alone: `kafka-reassign status` lists them",
    ),
    (
        "Unable to … for …:… because it would require an unclean leader election.",
        "No original replica in sync is alive. Bring its broker back, then cancel",
    ),
    (
        "Unable to change the target of the reassignment for …:…: it began with … replica(s), fewer than …=…, so that"
        " dropping … could cut producers off. Cancel it first, or leave them in the target.",
        "Keep the replicas that the move adds already in the new target, or cancel first",
    ),
    (
        "The target is too long to wait in the queue.",
        "A target of hundreds of brokers cannot wait. Name fewer",
    ),
    (
        "Topic '…' cannot get … partitions: its znode has room for fewer than ….",
        "ZooKeeper takes no znode of more than 1 MiB. Spread the records over more topics",
    ),
    (
        "Cannot execute because there is an existing partition assignment.",
        "Other moves are in flight. `--additional` starts yours at the same time, `--execute-queue` or `move --queue`"
        " lets them wait",
    ),
    (
        "Unknown broker id …",
        "No broker of this id is registered. Check the id, or start the broker",
    ),
    (
        "--lease is about the throttle of --throttle: give both",
        "Give the rate: `--throttle 50MB --lease`",
    ),
    (
        "--execute-queue cannot place replicas in log dirs, for they are not there before their move starts",
        "Queue the moves without `log_dirs`; place the replicas with `--execute` afterwards",
    ),
    (
        "The controller has no queue for reassignments (KIP-236): that needs a kafka-reassign-rpc server. This request"
        " was not sent.",
        "A stock broker is the controller. `kafka-reassign status` says which; use `--execute`, or start a server",
    ),
    (
        "The controller does not take the throttles of moves off by itself: that needs a kafka-reassign-rpc server."
        " This request was not sent.",
        "The same. Without `--lease` the throttle stays until `--verify`",
    ),
    (
        "The controller does not compare expected replicas: that needs a kafka-reassign-rpc server. This request was"
        " not sent.",
        "The same. Leave out `--expect-current`, and look first with `--dry-run`",
    ),
    (
        "The controller does not keep what moves are for: that needs a kafka-reassign-rpc server. This request was not"
        " sent.",
        "The same. Leave out `--reason`",
    ),
    (
        "warning: producers write faster than the throttle of …/s lets replicas copy: …",
        "Such moves never end. Run the command again with `--additional` and a higher `--throttle`",
    ),
    (
        "warning: … fewer replicas than … asks for: …; producers with acks=all cannot write there then",
        "The move goes on. Choose a target with more replicas, or lower the config where that is meant",
    ),
    (
        "warning: … held by a throttle that is already set: …; …. --throttle sets another one",
        "The move goes on at that rate. Give `--throttle`, or take the replicas out of the lists of the topic",
    ),
    (
        "warning: … … on fewer racks, or less even over them: …",
        "The move has started. If that was not meant, cancel it and choose brokers of other racks",
    ),
)
