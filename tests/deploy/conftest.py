"""Tests with a Prometheus or systemd run where it is installed; `.ci/provision` installs both where it may."""

from tests.optional_software import HAS_PROMETHEUS, HAS_SYSTEMD, NEED_PROMETHEUS, NEED_SYSTEMD

collect_ignore = [*(() if HAS_PROMETHEUS else NEED_PROMETHEUS), *(() if HAS_SYSTEMD else NEED_SYSTEMD)]
