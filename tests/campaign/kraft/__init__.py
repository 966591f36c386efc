"""A campaign on a cluster in KRaft mode, with our servers in front of it.

make campaign KRAFT=1 SEED=7 MINUTES=5

kraft_kinds      the kinds of steps, and how often each comes
kraft_plan       from a seed to the steps: pure
kraft_site       the processes: controllers, brokers, our servers, the proxies between them
harm_steps       what happens to nodes and servers
move_steps       what clients ask: moves by our servers and behind them
operator_steps   what operators do: brokers are lost and repaired, cordoned and drained, moves wait, throttles go
asked            what clients have asked for, and what they were told
log_audit        the state log as it was written, read from its first record on
intent_checks    what has to hold of intents and their outcomes: pure
rule_checks      what has to hold of what operators have set: pure
kraft_verdict    brings the cluster to rest and makes every check
kraft_course     all of it as a campaign
"""
