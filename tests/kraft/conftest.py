from collections.abc import Iterator

import pytest

from tests.kraft.stock_cluster import StockCluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StockCluster]:
    """All its brokers live. Its nodes are bound to no event loop."""
    made = StockCluster(tmp_path_factory.mktemp("kraft"))
    try:
        made.start()
        yield made
    finally:
        made.stop()
