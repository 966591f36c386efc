"""A default is in the room that uses it, and `cli/` reads it there: two homes would differ after the first change."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from tests.docs.pages import ROOT, text_of

CLI = ROOT / "kafka_reassign_rpc" / "cli"
OF_COMMANDS = {
    "cluster_access.py: --timeout-ms": "the command's own patience: preflight takes what it is given",
    "health_command.py: --timeout-ms": "the command asks by itself",
    "zookeeper_command.py: --port": "ZooKeeper's usual port, for people alone: elsewhere the system picks one",
}
"""The numbers whose room is the command itself."""
_IN_HELP = re.compile(r"\(default: \d")


def number(node: ast.expr, named: Mapping[str, ast.expr]) -> bool:
    """Whether it is a number that this file has, also by a name (`named`: its constants) or as a product."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.UnaryOp(operand=of):
            return number(of, named)
        case ast.BinOp(left=left, right=right):
            return number(left, named) and number(right, named)
        case ast.Name(id=name):
            return name in named and number(named[name], {})
    return False


def named_in(call: ast.Call) -> str:
    """The flag or the setting that a call declares."""
    first = call.args[0] if call.args else ast.Constant("")
    return str(first.value) if isinstance(first, ast.Constant) else ast.unparse(first)


def texts(nodes: Iterable[ast.AST]) -> list[str]:
    return [one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)]


def numbers(source: str) -> Iterator[str]:
    """The flags and settings whose default is a number of this file."""
    tree = ast.parse(source)
    named = {
        target.id: one.value
        for one in tree.body
        if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            keywords = {one.arg: one.value for one in node.keywords}
            given = [keywords["default"]] if "default" in keywords else []
            if isinstance(node.func, ast.Name) and node.func.id == "Setting":
                given += node.args[2:3]
            words = [keywords["default_words"]] if "default_words" in keywords else node.args[4:5]
            if (
                any(number(one, named) for one in given)
                or any(one.isdigit() for one in texts(words))
                or ("help" in keywords and any(_IN_HELP.search(one) for one in texts(ast.walk(keywords["help"]))))
            ):
                yield named_in(node)
        elif isinstance(node, ast.Tuple) and node.elts and isinstance(node.elts[0], ast.Constant):
            flag = node.elts[0].value
            if isinstance(flag, str) and flag.startswith("--") and any(number(one, named) for one in node.elts[1:]):
                yield flag


def test_sv_1_no_default_is_a_number_of_the_command_line_itself() -> None:
    found = {f"{file.name}: {name}" for file in CLI.glob("*.py") for name in numbers(text_of(file))}
    assert found == set(OF_COMMANDS)


def test_sv_1_a_number_in_any_form_is_found() -> None:
    source = """
MS = 5
Setting("a", whole(1), 5, "x")
Setting("b", whole(1), 16 * 2**20, "x")
Setting("c", whole(1), room.MS, "about 5")
add("--d", default=-1)
add("--e", default=MS)
add("--f", default=room.x, help="(default: %(default)s)")
add("--g", help="(default: 0.1)")
_sasl("h", whole(1), "x", "MS", "30")
for flag, default in (("--i", 0.05), ("--j", None)):
    add(flag, default=default)
"""
    assert [*numbers(source)] == ["a", "b", "--d", "--e", "--g", "h", "--i"]
