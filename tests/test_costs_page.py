"""The page about costs, from rows made by hand."""

from tests.costs import page

ROWS = [
    {"test": "tests/a/test_x.py::one", "cpu_s": 1.5, "clock_s": 4.0, "jvms": 0, "marks": ["long"], "kind": "pure"},
    {
        "test": "tests/a/test_x.py::two",
        "cpu_s": 0.5,
        "clock_s": 1.0,
        "jvms": 2,
        "marks": ["stock"],
        "kind": "stock Kafka",
    },
    {"test": "tests/b/test_y.py::one", "cpu_s": 3.0, "clock_s": 3.0, "jvms": 1, "marks": ["gate"], "kind": "pure"},
]


def test_the_page_sums_by_run_kind_folder_and_file_and_names_the_dearest_first() -> None:
    rows = [line for line in page(ROWS).splitlines() if line.startswith("|") and "---" not in line]
    assert rows == [
        "| Run | tests | CPU s | s by the clock | JVMs |",
        "| make test | 2 | 2.0 | 5 | 2 |",
        "| only in larger runs | 1 | 3.0 | 3 | 1 |",
        "| Kind | tests | CPU s | s by the clock | JVMs |",
        "| pure | 2 | 4.5 | 7 | 1 |",
        "| stock Kafka | 1 | 0.5 | 1 | 2 |",
        "| Folder | tests | CPU s | s by the clock | JVMs |",
        "| tests/b | 1 | 3.0 | 3 | 1 |",
        "| tests/a | 2 | 2.0 | 5 | 2 |",
        "| File | tests | CPU s | s by the clock | JVMs |",
        "| tests/b/test_y.py | 1 | 3.0 | 3 | 1 |",
        "| tests/a/test_x.py | 2 | 2.0 | 5 | 2 |",
    ]
