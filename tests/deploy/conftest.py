"""Tests with a Prometheus run where one is installed; `.ci/run` installs it where it may."""

from tests.optional_software import HAS_PROMETHEUS, NEED_PROMETHEUS

collect_ignore = [] if HAS_PROMETHEUS else [*NEED_PROMETHEUS]
