"""Settings as values: their names, defaults and bounds, and which hold.

reassignment_settings.py  settings for every new move, with their defaults: the caps (`InFlightCaps`), the
                          cordoned brokers
healing_settings.py       those of self-healing; how short failure.interval.ms may be (SHORTEST_MS)
setting_kinds.py          how a setting is declared, and what values it may have
server_settings.py        the catalogue of those that all servers share; values that are taken with a warning
broker_settings.py        settings that a controller has from the configuration of its broker, with Kafka's defaults
windows.py                the grammar of `reassignment.windows`
settings_in_force.py      which settings hold, derived from all that they come from
"""
