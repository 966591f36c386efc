"""The build rule for `schemas/`: a wheel carries it as `kafka_reassign_rpc.schemas`, a checkout reads it where it lies.

All else about the package is in pyproject.toml, which has no way to say this.
"""

from setuptools import find_packages, setup

SCHEMAS = "kafka_reassign_rpc.schemas"

setup(packages=[*find_packages(include=["kafka_reassign_rpc*"]), SCHEMAS], package_dir={SCHEMAS: "schemas"})
