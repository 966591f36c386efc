"""Self-healing (KIP-46).

failed_brokers.py       which failed brokers are repaired, and when; after a failed repair (RETRY_MS); what is known of
                        failed log dirs; why no repair may start or continue, and which wait for approval
repair_targets.py       whether a repair is still needed once brokers return or other moves come; what it would cost:
                        bytes and time; how fast repairs may copy. The `planner` says which brokers take its replicas:
                        `controller.duties.self_healing` asks it, with what repairs want of a target: its PLANNING
self_healing_status.py  what an operator sees of self-healing; what happens next to each lost broker; the partitions
                        that repairs had to leave

The settings of repairs and their defaults are in `core.settings.healing_settings`.
"""
