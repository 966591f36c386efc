"""Which tests of a run go to one process."""

from collections import defaultdict

from tests.scheduling import unit

GROUPS = (("tests/a/test_x", "tests/b/test_y"), ("tests/c/test_",))


def test_a_file_is_a_unit_and_so_are_all_files_of_a_group() -> None:
    units = defaultdict[str, set[str]](set)
    for file in ("a/test_x.py", "a/test_z.py", "b/test_y.py", "c/test_x.py", "c/test_y.py", "c/d/test_x.py"):
        for name in ("one", "two[tests/c/test_x]"):
            units[unit(f"tests/{file}::{name}", GROUPS)].add(file)
    assert sorted(map(sorted, units.values())) == [
        ["a/test_x.py", "b/test_y.py"],
        ["a/test_z.py"],
        ["c/d/test_x.py"],
        ["c/test_x.py", "c/test_y.py"],
    ]
