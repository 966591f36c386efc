"""Every command that the product or a page tells a reader to type is one: the real parsers take it."""

import ast
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_reassign_rpc.support.typed_commands import ANY, Connection, command
from tests.command_lines import OURS, refusal
from tests.docs.pages import PAGES, ROOT, prose_of, text_of

PACKAGE = ROOT / "kafka_reassign_rpc"
TYPED = re.compile(r"(?<![\w/-])kafka-reassign(?:-rpc)? [^`\n]*?(?=`|$)", re.MULTILINE)
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if TYPED.search(text_of(path)) or "command(" in text_of(path)]
BLOCK = re.compile(r"^```(?:sh)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
OF_SHELL = re.compile(r"\s+#|\s(?:\||\|\||&&|>)\s|\)")
"""What ends a command on its line."""
A_FORM = re.compile(r"…|\[|\{|\||COMMAND|TOPIC|: |\\$")
"""Such a line shows how a command looks, or is the message or a part of one: nobody types it as it stands."""


def built(module: Path) -> Iterator[str]:
    """What the calls of `command` in a module print. A value that only the run knows is a 3 here: an id, a rate and a
    path can be that."""
    for node in ast.walk(ast.parse(text_of(module))):
        match node:
            case ast.Call(func=ast.Name("command"), args=[ast.Constant(str(program)), *words]):
                yield command(program, *_words(words))
            case ast.Call(func=ast.Name("partial"), args=[ast.Name("command"), ast.Constant(str(program)), *words]):
                yield command(program, *_words(words))
            case ast.Call(func=ast.Attribute(attr="_asks"), args=[ast.Constant(str(program)), *words]):
                yield command(program, *_words(words))


def _words(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Constant(value):
                yield str(value)
            case ast.JoinedStr(values):
                yield "".join(str(one.value) if isinstance(one, ast.Constant) else "3" for one in values)
            case ast.Starred():
                pass
            case _:
                yield "3"


def written(module: Path) -> Iterator[str]:
    """The commands with options in the texts of a module but for docstrings."""
    tree = ast.parse(text_of(module))
    passed = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    passed |= {id(one) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for one in node.values}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(str()) | ast.JoinedStr() if id(node) not in passed:
                [text] = _words([node])
                yield from (line for line in TYPED.findall(text) if " --" in line)


def test_236_12_every_command_that_a_module_builds_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [(module, line) for module in MODULES for line in built(module)]
    for module, line in lines:
        if line.split()[0] in OURS:
            assert not refusal(line), (module, line, capsys.readouterr().err)
    found = Counter(line.split()[0] for _, line in lines)
    assert found["kafka-reassign"] > 10, found
    assert found["kafka-reassign-rpc"] > 5, found


def test_236_12_every_command_in_a_text_is_one_or_becomes_one_with_a_connection(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = {line for module in MODULES for line in written(module) if not A_FORM.search(line)}
    assert len(lines) > 20
    for line in sorted(lines):
        connected = f"{line} {ANY}" if line.startswith("kafka-reassign ") else line
        assert not (refusal(line) and refusal(connected)), (line, capsys.readouterr().err)


def typed(page: Path) -> Iterator[str]:
    """The commands with options on a page: lines of its blocks as they are, those of its sentences with a connection.

    On the page of the alerts those of the sentences are whole, too: it is read at night.
    """
    text = text_of(page)
    for block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ ") or line.split(" ")[0] in OURS:
                yield from (OF_SHELL.split(one)[0] for one in TYPED.findall(line))
    for line in TYPED.findall(prose_of(page)):
        if " --" in line:
            yield line if page.name == "runbook.md" or not line.startswith("kafka-reassign ") else f"{line} {ANY}"


@pytest.mark.parametrize("page", [one for one in PAGES if "kafka-reassign" in text_of(one)], ids=lambda page: page.name)
def test_236_12_every_command_of_a_page_is_one(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for line in typed(page):
        if not A_FORM.search(line):
            command_line = re.sub(r"\b(ID|N)\b", "3", line)
            assert not refusal(command_line), (line, capsys.readouterr().err)


def test_236_12_a_command_that_is_none_is_found() -> None:
    assert refusal(command("kafka-reassign cordon", "--uncordon"))
    assert refusal(command("kafka-reassign release"))
    assert refusal("kafka-reassign heal --approve")
    assert refusal(command("kafka-reassign", "--cancle"))
    assert refusal(command("kafka-reassign-rpc submit", "--execute"))
    assert not refusal(command("kafka-reassign cordon", "--uncordon", "--brokers", "3") + " || echo no > log &")


def test_236_12_a_command_is_typed_with_the_connection_quoted_for_the_shell() -> None:
    line = command("kafka-reassign heal", "--approve", "--brokers", 3)
    assert line == "kafka-reassign heal --bootstrap-server HOST:PORT --approve --brokers 3"
    here = Connection("b1:9092,b2:9092", "my client.properties")
    filled = here.filled(f"3 moves wait: `{line}`")
    assert filled == (
        "3 moves wait: `kafka-reassign heal --bootstrap-server b1:9092,b2:9092"
        " --command-config 'my client.properties' --approve --brokers 3`"
    )
    evil = Connection("b:1; id", "$(id)", "--admin.config").filled(line)
    assert shlex.split(evil)[2:6] == ["--bootstrap-server", "b:1; id", "--admin.config", "$(id)"]
    assert ANY.filled(line) == line
