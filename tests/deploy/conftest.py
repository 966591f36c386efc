"""Tests with a Prometheus run where one is installed; `.ci/run` installs it where it may."""

import shutil

HAS_PROMETHEUS = all(shutil.which(name) for name in ("prometheus", "promtool"))

collect_ignore = [] if HAS_PROMETHEUS else ["test_with_prometheus.py"]
