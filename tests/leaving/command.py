"""`kafka-reassign-rpc leave` as a process that is killed."""

import asyncio
import sys

from tests.fork_server import CLI
from tests.processes import ended


class Leaving:
    """The command as an operator runs it, with a terminal's questions."""

    def __init__(self, *options: str) -> None:
        self.words = ["leave", *options]
        self.out = ""

    async def until(self, text: str, *, agrees: bool = True) -> None:
        """Answers each question with yes, however many there are; kills the process (SIGKILL) at this text."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", CLI, *self.words, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdin is not None
        assert process.stdout is not None
        self.out, seen = "", 0
        async with asyncio.timeout(60):
            while True:
                piece = await process.stdout.read(4096)
                assert piece, f"it has ended: {self.out}"
                self.out += piece.decode()
                if text in self.out:
                    await ended(process)
                    return
                if agrees and "[y/N]" in self.out[seen:]:
                    seen = len(self.out)
                    process.stdin.write(b"y\n")
