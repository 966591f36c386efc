"""Any kafka-python: a group's offsets, and its deletion. Arguments: the bootstrap address, and a group. It prints JSON.

It runs in the environment of that client, so it imports nothing of this repository.
"""

import json
import sys

from kafka import KafkaAdminClient

bootstrap, group = sys.argv[1:]
admin = KafkaAdminClient(bootstrap_servers=bootstrap, client_id="test")
offsets = admin.list_consumer_group_offsets(group)
print(json.dumps([[where.topic, where.partition, found.offset] for where, found in offsets.items()]))
for _, error in admin.delete_consumer_groups([group]):
    if error.errno:
        raise SystemExit(f"not deleted: {error}")
admin.close()
