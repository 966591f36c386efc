"""Replication throttles (KIP-73).

replication_throttles.py  the throttles that topic and broker configs set
leased_configs.py         the configs that throttle leases need, and the way back to the former ones
standing_rates.py         the rates that hold while moves have a throttle lease
controller_state.py       the leased rates and controlled shutdowns of brokers, for clients
standing_rates.py         rates in force that a lease does not lift, as operators are told
observed_throughput.py    observed replication throughput
"""
