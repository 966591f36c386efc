"""The Kafka APIs that the server and the simulated brokers answer: one handler module per API key, and
two tables of those that a node refuses to every client.

a<key>_<name>.py         handler of one API: `handle`, `fail`, and `API`, its key, versions and ACLs
refused_records.py       Produce, Fetch, ListOffsets and others of partitions, on a node that leads none
refused_coordination.py  consumer groups and their offsets, transactions, delegation tokens and logins at the wrong
                         time, on a node that coordinates and makes none
refusals.py              what the rows of these tables have in common
vendor_table.py          the documents of AskDocument and the commands of DoCommand: a function and a row for each, with
                         the right that it needs
api_definition.py        `Api`, how a handler module declares itself; how many elements its requests may have (FEW,
                         MANY, …); `RequestContext`, from where a request came
dispatch.py              from a decoded request to its handler and back; the table of all APIs; what a server needs
ports.py                 `Node`, `ControllerPort` and others: what handlers call
config_ports.py          the ports of configs, settings, quotas and ACLs
access.py                what the caller of a request may do; what its refusal and the event access.denied say
left_to_brokers.py       what only the brokers' policies or their authorizer can decide
answer_fields.py         what many answers have in common: fields; the topics that exist for clients, whatever their
                         rights: none in deletion; a partition as Metadata and DescribeTopicPartitions show it
large_requests.py        how large requests and answers are kept from holding up others: which answer is small, how
                         large a piece is (SMALL, PIECE_BYTES)
config_entries.py        configs as DescribeConfigs and CreateTopics show them; settings of servers as configs: who
                         takes them, and who no longer does
config_changes.py        what AlterConfigs and IncrementalAlterConfigs do; the most configs of a resource
                         (MOST_CONFIGS); changes of the cluster-wide broker configs

Handlers know no ZooKeeper, no controller loop and no fleet. Where an API has an error for the whole request, other
nodes than the controller answer NOT_CONTROLLER, and nodes without an authorizer answer requests about ACLs with
SECURITY_DISABLED, or CLUSTER_AUTHORIZATION_FAILED if the brokers have one.
"""
