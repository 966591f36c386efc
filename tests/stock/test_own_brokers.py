"""Each file that starts stock brokers of its own says why."""

import ast
from pathlib import Path

from tests.stock.own_brokers import STARTERS, WHY

TESTS = Path(__file__).parents[1]


def starts_brokers(source: str) -> bool:
    """Whether it imports one of `STARTERS` and calls it."""
    if not any(f"{name.partition('.')[2]}(" in source for name in STARTERS):
        return False
    nodes = [*ast.walk(ast.parse(source))]
    imports = [(node.module or "", node.names) for node in nodes if isinstance(node, ast.ImportFrom)]
    imported = {f"{module.rpartition('.')[2]}.{one.name}" for module, names in imports for one in names}
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return any(name in imported and name.partition(".")[2] in called for name in STARTERS)


def test_a_file_that_starts_stock_brokers_of_its_own_says_what_shared_ones_could_not_show() -> None:
    files = TESTS.rglob("test_*.py")
    found = {str(path.relative_to(TESTS)) for path in files if starts_brokers(path.read_text())}
    assert found - WHY.keys() == set(), "they are not in WHY of own_brokers.py"
    assert WHY.keys() - found == set(), "they start none"
    assert [file for file, why in WHY.items() if not why.endswith(".")] == []


def test_to_name_brokers_is_not_to_start_some() -> None:
    assert starts_brokers("from tests.stock.cluster import StockCluster\nStockCluster('')")
    assert not starts_brokers("from tests.stock.cluster import StockCluster\ndef test(cluster: StockCluster): ...")
    assert not starts_brokers("class KRaftWorld: ...\nKRaftWorld()")
