"""How a node of stock Kafka is started: its JVM, its logging, and what its log says when it serves."""

import re
from collections.abc import Sequence
from pathlib import Path

from tests.jvm import QUICK

from .jars import BROKER_VERSION, classpath, jars

_LOG4J = Path(__file__).with_name("log4j-broker.properties")
_LOG4J2 = Path(__file__).with_name("log4j2.properties")
JVM = ("-Xms96m", "-Xmx256m", *QUICK)
STARTED = re.compile(rb"\[KafkaServer id=\d+\] started|\[KafkaRaftServer nodeId=\d+\] Kafka Server started")


def java(version: str, jvm: Sequence[str]) -> list[str]:
    """The beginning of a command of this version, with its logging. The jars of Kafka 2.8 have no backend for it, and
    get the one of 3.9.1, of the same API.
    """
    path = classpath(version)
    if version.startswith(("2.", "3.")):
        logging = f"-Dlog4j.configuration=file:{_LOG4J}"
        if version != BROKER_VERSION:
            path = ":".join([path, *map(str, jars(BROKER_VERSION).glob("*reload4j-*.jar"))])
    else:
        logging = f"-Dlog4j2.configurationFile={_LOG4J2}"
    return ["java", *jvm, logging, "-cp", path]
