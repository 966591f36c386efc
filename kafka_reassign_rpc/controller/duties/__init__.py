"""What a server does beside commands. As the controller, for as long as its term lasts:

propagation         marks at the channels what brokers have to learn of a committed round
topic_deletion      counts confirmed StopReplicas; removes a topic's znodes after the last one
progress_sampling   asks brokers how far moves are
self_healing        diagnoses failed brokers, plans and queues their repairs (KIP-46)
leader_balance      preferred leader elections from time to time; purges old config change announcements
delegation_tokens   removes delegation tokens that have expired
producer_ids        allocates blocks of producer ids
feature_znode       creates `/feature` (KIP-584)
partition_counting  counts partitions without leader or in-sync replicas, for the metrics

As controller and as standby:

broker_survey       asks brokers for their API versions and settings
defaults_judge      asks all live brokers before cluster-wide broker configs are changed
acl_keeper          keeps the authorizer's ACLs as they stand in ZooKeeper
"""
