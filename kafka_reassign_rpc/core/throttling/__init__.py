"""Replication throttles (KIP-73).

replication_throttles.py  the throttles that topic and broker configs set
leased_configs.py         the configs that throttle leases need, and the way back to the former ones;
                          throttles of leases that others have removed again
standing_rates.py         the rates that hold while moves have a lease, and the stricter ones that it does not lift
"""
