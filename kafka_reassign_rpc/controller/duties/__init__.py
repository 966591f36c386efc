"""What a server does besides commands. As the controller, for as long as its term lasts:

term_tasks           runs the duties, and ends the term where one fails
reported_by_brokers  what follows from the reports of brokers; whether they obey this term: until then nothing is
                     answered as done. How long a request waits for the first answer (FIRST_ANSWER_S)
learnt_settings      has in force what the survey learns of the brokers' settings; warns of settings of servers in the
                     wrong place
waiting_moves        has waiting moves decided again once there may be room, or a window begins or ends
propagation          marks at the channels what brokers have to learn of a committed round
topic_deletion       counts confirmed StopReplicas; removes a topic's znodes after the last one (REMOVALS_AT_ONCE);
                     marks and records without a topic
progress_sampling    asks brokers how far moves are: how often, and when a move is stalled (`Sampling`); how full their
                     disks are, while somebody looks (INTERVAL_S)
healing_answers      what self-healing answers operators; what repairs would cost, asked again every ASK_EVERY_S
self_healing         diagnoses failed brokers, plans and queues their repairs (KIP-46): how often it looks
                     (DIAGNOSE_EVERY_S), with which options it plans (PLANNING)
leader_balance       preferred leader elections from time to time; how often, and from which imbalance on, says
                     `core.settings.broker_settings`
delegation_tokens    removes delegation tokens that have expired (CHECK_INTERVAL_S)
producer_ids         allocates blocks of producer ids (their size: `controller.duties.producer_ids`)
replica_watch        counts partitions without leader or in-sync replicas, for the metrics (INTERVAL_S); reports new
                     replicas on cordoned brokers

As controller and as standby:

broker_survey         asks brokers for their API versions and settings; how long requests wait for that (PATIENCE_S)
defaults_judge        asks all live brokers before cluster-wide broker configs are changed; how long (ANSWER_S,
                      WHOLE_S); what a broker says to cluster-wide configs
client_config_keeper  keeps quotas and SCRAM credentials as they are in ZooKeeper
"""
