"""What an operator who meets an error should know or do, by the names of the classes in core/kafka_errors.py."""

ADVICE = {
    "UnknownServerError": "The message says what happened; a line on the server's standard error says more. Try again",
    "UnknownTopicOrPartition": "Check the topic's name and the partition's number. A topic that is being deleted counts"
    " as gone",
    "NotLeaderOrFollower": "The client asked this server for records. Clients look for the leader and try again on"
    " their own",
    "RequestTimedOut": "Raise the client's timeout, send fewer partitions in one request, or try again: the message"
    " says which",
    "StaleControllerEpoch": "A broker answers it to a controller that was replaced. Nothing to do, unless the server"
    " goes on warning of it while it is the controller: then restart the broker",
    "CoordinatorNotAvailable": "`__consumer_offsets` or `__transaction_state` has no leader for this group yet",
    "InvalidTopic": "Choose a legal topic name",
    "UnsupportedVersion": "The server or broker is older than the option that was asked for",
    "IllegalSaslState": "The listener has no SASL, or the client is authenticated already. Compare the client's"
    " `security.protocol` with the listener's",
    "TopicAlreadyExists": "Choose another name, or use the existing topic",
    "InvalidPartitions": "A topic needs at least one partition, and it can only grow",
    "InvalidReplicationFactor": "The target has another number of replicas than the partition, and the request or"
    " `partition.reassignments.replication.factor.change.allowed` forbids that. Or a new topic asks for more replicas"
    " than there are brokers",
    "InvalidReplicaAssignment": "The message names the broker or the replica list at fault: an empty list, a broker"
    " twice, an adding broker that is not alive, replicas other than the expected ones, a cancel that would need an"
    " unclean election",
    "InvalidConfig": "The message names the config. Correct its name or value",
    "NotController": "The client asked a server that is not the controller. Clients look for the controller and try"
    " again on their own",
    "InvalidRequest": "The message says which part of the request makes no sense",
    "PolicyViolation": "Reassignments are disabled, or a topic's znode would exceed 1 MiB, or repairs are held back."
    " The message says which; `kafka-reassign --enable` enables reassignments",
    "MismatchedEndpointType": "The client asked for KRaft controllers (`--bootstrap-controller`). Use"
    " `--bootstrap-server`",
    "PrincipalDeserializationFailure": "The broker has a `principal.builder.class` of its own, whose principals this"
    " server cannot read. Its clients get UNKNOWN_SERVER_ERROR while it migrates; ask the server itself",
    "KafkaStorageError": "A log dir of the broker failed. Repair the disk, then restart the broker",
    "LogDirNotFound": "Name a log dir that the broker has (`kafka-log-dirs.sh --describe`)",
    "ReassignmentInProgress": "Add partitions when the topic's moves are over, or cancel the moves",
    "ReplicaNotAvailable": "The replica is not on that broker yet. Try again when the move has started",
    "TopicDeletionDisabled": "The brokers have `delete.topic.enable=false`",
    "FencedLeaderEpoch": "A broker's own request is out of date; it tries again. Nothing to do",
    "StaleBrokerEpoch": "The broker has restarted since. Nothing to do",
    "BrokerIdNotRegistered": "A broker that this server does not know, as right after its start. It asks again",
    "PreferredLeaderNotAvailable": "The preferred replica is not alive or not in the ISR. Wait until it is",
    "EligibleLeadersNotAvailable": "No replica can lead. Bring back a broker of the ISR, or ask for an unclean"
    " election and lose records",
    "ElectionNotNeeded": "The wanted leader leads already. Nothing to do",
    "NoReassignmentInProgress": "There is nothing to cancel: the move is over, or never was",
    "InvalidUpdateVersion": "A leader asked for an ISR on old knowledge; it tries again. Nothing to do",
    "UnknownTopicId": "The topic was deleted, or deleted and created again",
    "InconsistentTopicId": "A broker has the log of an earlier topic; the controller has it deleted. Nothing to do, "
    "unless the server warns that the log stays: see [operations](operations.md#a-log-of-an-earlier-topic)",
    "IneligibleReplica": "A replica has restarted since the leader saw it; the leader tries again. Nothing to do",
    "ClusterAuthorizationFailed": "Give the client's principal the right on the cluster: `access.denied` in the event"
    " log says which. A server without an authorizer answers so where brokers have one: start it with theirs",
    "TopicAuthorizationFailed": "Give the client's principal the right on the topic: `access.denied` in the event log"
    " says which",
    "GroupAuthorizationFailed": "Give the client's principal the right on the group: `access.denied` in the event log"
    " says which",
    "TransactionalIdAuthorizationFailed": "Give the client's principal the right on the transactional id: WRITE for a"
    " producer, DESCRIBE to find its coordinator",
    "LeaderNotAvailable": "The server cannot read its topics while ZooKeeper is away. Clients ask again on their own",
    "BrokerNotAvailable": "The broker is not registered. Check that it runs",
    "CoordinatorLoadInProgress": "The client tries again on its own",
    "NotCoordinator": "The client looks for the coordinator and tries again on its own",
    "InvalidRequiredAcks": "Set the producer's `acks` to -1, 0 or 1",
    "InconsistentGroupProtocol": "A defect of the client: it does not name the protocol of its group",
    "InvalidGroupId": "Give the client a `group.id`",
    "InvalidTransactionTimeout": "Set the producer's `transaction.timeout.ms` above 0",
    "FetchSessionIdNotFound": "The client asked this server for records. It begins again on its own",
    "DelegationTokenAuthDisabled": "This server makes no delegation tokens. Ask a broker that has"
    " `delegation.token.secret.key`",
    "DelegationTokenRequestNotAllowed": "Authenticate with SASL or with a certificate first",
    "SecurityDisabled": "The server runs without an authorizer, so there are no ACLs to show or change: set "
    "`authorizer.class.name`",
    "ResourceNotFound": "The user has no such SCRAM credential",
    "ThrottlingQuotaExceeded": "The client's controller_mutation_rate is used up. Wait as long as the answer says",
    "DuplicateResource": "Name each user once",
    "UnacceptableCredential": "The text says what is wrong with the user or the credential",
    "UnsupportedSaslMechanism": "Use SCRAM-SHA-256 or SCRAM-SHA-512",
    "OperationNotAttempted": "Another part of the same request failed. Correct that and send the rest again",
}
