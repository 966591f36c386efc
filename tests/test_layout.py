"""The layout that the design card of the project names, and who reads the schemas from where."""

from importlib.resources import files
from pathlib import Path

from kafka_reassign_rpc.protocol import messages

ROOT = Path(__file__).parents[1]
CARD = ("pyproject.toml", "kafka_reassign_rpc/", "schemas/", "tests/", "benchmarks/", "Dockerfile")


def test_the_top_level_is_that_of_the_design_card() -> None:
    places = {name: ROOT / name for name in CARD}
    assert not [name for name, place in places.items() if place.is_symlink()]
    assert not [name for name, place in places.items() if not (place.is_dir if name[-1] == "/" else place.is_file)()]


def test_a_checkout_reads_the_schemas_at_its_top_level_and_has_no_copy_of_them() -> None:
    assert Path(str(files(messages.SCHEMAS))) == ROOT / "schemas"
    assert len(list((ROOT / "schemas").glob("*.json"))) > 40
    in_package = {path.name for path in (ROOT / "kafka_reassign_rpc").rglob("*")}
    assert not in_package & {"schemas", "DoCommandRequest.json"}
