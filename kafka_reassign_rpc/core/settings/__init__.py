"""Settings as values: their names, defaults and bounds, and which hold.

reassignment_settings.py  settings for every new move
healing_settings.py       those of self-healing
healing_throttle.py       `self.healing.throttle`: bytes/s, or a share of the observed throughput
broker_settings.py        settings that a controller has from the configuration of its broker
settings_in_force.py      which settings hold, derived from all that they come from

`core.configs.server_settings` is the catalogue of those that all servers share.
"""
