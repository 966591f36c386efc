"""Commands that our texts ask a reader to type. They run as they are printed.

The code that makes a text often does not know how its reader reaches the cluster: it says HOST:PORT, and the command of
ours that prints it puts its own connection instead.
"""

import re
import shlex
from typing import NamedTuple


class Connection(NamedTuple):
    """How a command reaches a cluster.

    bootstrap_server   HOST:PORT of one or more nodes; the default: its reader knows them
    config_flag        what the command calls the file with properties of the client
    """

    bootstrap_server: str = "HOST:PORT"
    command_config: str | None = None
    config_flag: str = "--command-config"

    def filled(self, text: str) -> str:
        """The text with this connection in all commands that name none."""
        return text.replace(str(ANY), str(self))

    def __str__(self) -> str:
        file = () if self.command_config is None else (self.config_flag, self.command_config)
        return shlex.join(("--bootstrap-server", self.bootstrap_server, *file))


ANY = Connection()
_LAST = re.compile(rf"(?: `)?(kafka-reassign(?:-rpc)?(?: [a-z-]+){{0,2}} {ANY}[^`]*)`?$")


def without_command(line: str) -> tuple[str, str]:
    """What comes before the command that ends a line, and it, or "": broken into lines it cannot be copied."""
    found = _LAST.search(line)
    return (line, "") if found is None else (line[: found.start()].rstrip(), found[1])


def command(program: str, *words: object) -> str:
    """Without its connection. `program` has the action too, such as `kafka-reassign heal`."""
    return " ".join((program, str(ANY), *(shlex.quote(str(word)) for word in words)))
