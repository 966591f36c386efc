"""How much of a stock broker's request time a client takes, as the broker's own metrics of quotas tell it over JMX.

`request-time` of `kafka.server:type=Request` is the time that network and I/O threads spent on the requests of a
client, in per cent of one thread. A broker keeps it for clients that have a quota: `keep` sets one that nobody reaches.
"""

import asyncio
import re
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Sequence

from tests.jvm import QUICK
from tests.stock.jars import classpath
from tests.stock.kraft import VERSION
from tests.stock.ports import kept_ports
from tests.stock.tools import MAIN_CLASSES

ENOUGH = 1_000_000
_JMX_TOOL = "org.apache.kafka.tools.JmxTool"
_VALUE = re.compile(r"request-time=([\d.E-]+)|^\d+,([\d.E-]+)", re.MULTILINE)


class Jmx:
    """The JMX of one broker. `options`: of its JVM."""

    def __init__(self) -> None:
        [self._port] = kept_ports(1)
        name = "-Dcom.sun.management.jmxremote"
        self.options = (
            *(f"{name}.port={self._port}", f"{name}.rmi.port={self._port}", "-Djava.rmi.server.hostname=127.0.0.1"),
            *(f"{name}.authenticate=false", f"{name}.ssl=false", f"{name}.host=127.0.0.1"),
        )

    async def request_time(self, client_id: str) -> float:
        """Per cent of one thread, over the last ten seconds. It fails where the broker had no request of it."""
        name = f"kafka.server:type=Request,client-id={client_id}"
        where = f"service:jmx:rmi:///jndi/rmi://127.0.0.1:{self._port}/jmxrmi"
        asked = ("--object-name", name, "--attributes", "request-time", "--jmx-url", where)
        printed = await _java(_JMX_TOOL, *asked, "--one-time", "--report-format", "properties")
        found = _VALUE.search(printed)
        assert found is not None, printed
        return float(found[1] or found[2])


async def keep(bootstrap: str) -> None:
    """From now on brokers keep the time of each client id."""
    asked = ("--bootstrap-server", bootstrap, "--alter", "--entity-type", "clients", "--entity-default")
    await _java(MAIN_CLASSES["configs"], *asked, "--add-config", f"request_percentage={ENOUGH}")


async def _java(main: str, *arguments: str) -> str:
    """What a tool of Kafka prints."""
    command: Sequence[str] = ("java", *QUICK, "-cp", classpath(VERSION), main, *arguments)
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=STDOUT)
    out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()
    return out.decode()
