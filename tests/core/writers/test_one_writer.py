"""Who writes into the state: facts, replay and reload, and nothing else.

The source is read for assignments and for calls that change what they are called on. `tests/controller/conftest.py`
compares the cluster before and after each decision of the tests of the controller, and so does
`tests/properties/test_controller_states.py`.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

import kafka_reassign_rpc
from kafka_reassign_rpc.core.state.cluster import Cluster, SoftState
from kafka_reassign_rpc.core.state.queue_entries import Queue
from kafka_reassign_rpc.core.state.throttle_leases import Leases
from kafka_reassign_rpc.core.state.waiting_lines import WaitingLines
from tests.tables import for_each

PACKAGE = Path(kafka_reassign_rpc.__file__).parent
WRITERS = {
    f"core/writers/{name}.py" for name in ("facts", "look_facts", "topic_facts", "replay", "reload", "topic_writes")
}
FOLDERS = ("core", "controller", "kraft", "preflight", "status_page", "controller_channel")
"""Where a `Cluster` is known."""
LEARNERS = (
    "command",
    "cluster_commands",
    "leadership_commands",
    "queue_commands",
    "reassign_partitions_commands",
)

FIELDS = {*Cluster.__struct_fields__, *SoftState.__struct_fields__}
ONLY_THEIRS = {"soft", "waiting_marks", "stale_marks", "topic_configs", "broker_configs", "config_versions"}
ROOTS = {"cluster", "_cluster", "soft"}
"""Names under which the state is known."""
ROOT_CHAINS = [[one] for one in ROOTS]
OF_THE_CLUSTER_ITSELF = "core/state/cluster.py", "soft.in_force = derived("
"""`Cluster.derive_settings`, which writers call."""
CHANGING = {
    "add", "append", "clear", "difference_update", "discard", "extend", "insert", "intersection_update", "pop",
    "popitem", "remove", "setdefault", "sort", "symmetric_difference_update", "update",
}  # fmt: skip
OWN_METHODS = {
    name
    for kind in (Queue, Leases, WaitingLines)
    for name, method in vars(kind).items()
    if callable(method) and name in {"put", "remove", "orphan", "drain", "configs_changed", "join", "wait", "end_line"}
}


def chain(node: ast.AST) -> list[str]:
    """`a.b[c].d` as ["a", "b", "d"]; empty where it does not begin with a name."""
    names: list[str] = []
    while True:
        match node:
            case ast.Attribute(value, attr):
                names.append(attr)
                node = value
            case ast.Subscript(value):
                node = value
            case ast.Name(name):
                return [name, *names[::-1]]
            case _:
                return []


def is_in_state(names: list[str]) -> bool:
    """Whether such a chain leads to a field of the state: `….cluster.FIELD…`."""
    return any(
        one in ROOTS and following in FIELDS for one, following in pairwise(names)
    ) or not ONLY_THEIRS.isdisjoint(names[1:])


def aliases(tree: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """Names that a function gives to parts of the state: `queue = view.cluster.queue`, also in tuples."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            targets, values = [target], [node.value]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                targets, values = target.elts, node.value.elts
            for one, value in zip(targets, values, strict=False):
                names = chain(value)
                if isinstance(one, ast.Name) and names and is_in_state(names):
                    yield one.id, names


def writes(source: str) -> list[str]:
    """The writes into the state in a module, as `LINE: CODE`."""
    tree = ast.parse(source)
    found: dict[str, None] = {}
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for function in functions:
        known = dict(aliases(function))
        for node in ast.walk(function):
            written: list[ast.AST] = []
            match node:
                case ast.Assign(targets):
                    for target in targets:
                        written += target.elts if isinstance(target, ast.Tuple) else [target]
                    written = [one for one in written if isinstance(one, (ast.Attribute, ast.Subscript))]
                case ast.AugAssign(target) | ast.AnnAssign(target):
                    written = [target] if isinstance(target, (ast.Attribute, ast.Subscript)) else []
                case ast.Delete(targets):
                    written = [*targets]
                case ast.Call(ast.Attribute(value, attr)) if attr in CHANGING | OWN_METHODS:
                    written = [value]
                case ast.Call(ast.Name("heappush" | "heappop" | "heapify" | "setattr"), [first, *_]):
                    written = [first]
                case ast.Call(ast.Attribute(value, "derive_settings")) if chain(value)[-1:] in ROOT_CHAINS:
                    found[f"{node.lineno}: {ast.unparse(node)}"] = None
            for one in written:
                names = chain(one)
                if names and names[0] in known:
                    names = [*known[names[0]], *names[1:]]
                if is_in_state(names):
                    found[f"{one.lineno}: {ast.unparse(node)}"] = None  # type: ignore[attr-defined]
    return list(found)


@for_each(
    "source",
    [
        "def f(cluster): cluster.batch = None",
        "def f(work): work.view.cluster.queue.waiting.more = True",
        "def f(self): self._cluster.topic_configs['a'] = {}",
        "def f(view):\n    queue, changes = view.cluster.queue, view.queue\n    queue.roots_with_children.add('/a')",
        "def f(view):\n    queue = view.cluster.queue\n    yield from queue.put(part)",
        "def f(view):\n    soft = view.cluster.soft\n    soft.sizes |= {}",
        "def f(cluster): heappush(cluster.queue.waiting.fresh, 1)",
        "def f(cluster): del cluster.moving['t']",
        "def f(cluster):\n    topic = cluster.topics['t']\n    topic.deleting = True",
        "def f(cluster):\n    cluster.requests, cluster.cancel_all = frozenset(), None",
        "def f(self): self._loop.cluster.derive_settings()",
    ],
)
def test_sv_3_a_write_into_the_state_is_found(source: str) -> None:
    assert len(writes(source)) >= 1


@cache
def sources() -> dict[str, str]:
    """The modules in which the state is known and that may not write it, by path."""
    paths = [path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py")]
    found = {str(path.relative_to(PACKAGE)): path.read_text() for path in paths}
    return {path: text for path, text in found.items() if path not in WRITERS and "luster" in text}


def test_sv_3_only_facts_replay_and_reload_write_into_the_state() -> None:
    found = [(path, write) for path, text in sources().items() for write in writes(text)]
    at, what = OF_THE_CLUSTER_ITSELF
    assert [f"{path}:{write}" for path, write in found if (path, what in write) != (at, True)] == []


@pytest.mark.parametrize(
    ("writing", "callers"),
    [
        (r"writers\.topic_writes import", {"controller/loading/load_cluster.py", "kraft/cluster_seen.py"}),
        (
            r"writers\.reload import .*take_over|replay\.replay\(",
            {"controller/zookeeper_store/fenced_zookeeper.py", "kraft/kraft_store.py"},
        ),
        (
            r"\.apply\(cluster\)",
            {
                *(f"controller/commands/{name}.py" for name in LEARNERS),
                "kraft/cluster_seen.py",
                "kraft/kraft_commands.py",
            },
        ),
        (r"\.learn\(self\.cluster\)", {"controller/controller_loop.py"}),
    ],
)
def test_sv_3_the_writers_are_called_by_the_loop_the_store_and_the_loader_only(writing: str, callers: set[str]) -> None:
    """Facts are applied where the loop asks a command to `learn`."""
    assert {path for path, text in sources().items() if re.search(writing, text)} == callers
