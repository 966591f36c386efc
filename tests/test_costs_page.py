"""The page about costs, from rows made by hand; and what it counts, from a process that another one leaves behind."""

import os
import subprocess
import sys

from tests.costs import Processes, page

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
    {"test": "tests/b/c/test_z.py::one", "cpu_s": 1.0, "clock_s": 1.0, "jvms": 0, "marks": [], "kind": "pure"},
    {"test": "tests/test_w.py::one[a/b]", "cpu_s": 0.2, "clock_s": 0.4, "jvms": 0, "marks": [], "kind": "pure"},
    {"test": "tests/test_w.py::two", "cpu_s": 0.1, "clock_s": 0.6, "jvms": 0, "marks": [], "kind": "pure"},
    {"test": "tests/test_v.py::one", "cpu_s": 0.1, "clock_s": 1.0, "jvms": 0, "marks": [], "kind": "pure"},
]


def test_the_page_sums_by_run_kind_folder_and_file_and_names_the_dearest_first() -> None:
    rows = [line for line in page(ROWS).splitlines() if line.startswith("|") and "---" not in line]
    assert rows == [
        "| Run | tests | CPU s | s by the clock | JVMs |",
        "| make test | 6 | 3.4 | 8 | 2 |",
        "| only in larger runs | 1 | 3.0 | 3 | 1 |",
        "| Kind | tests | CPU s | s by the clock | JVMs |",
        "| pure | 6 | 5.9 | 10 | 1 |",
        "| stock Kafka | 1 | 0.5 | 1 | 2 |",
        "| Folder | tests | CPU s | s by the clock | JVMs |",
        "| tests/b | 2 | 4.0 | 4 | 1 |",
        "| tests/a | 2 | 2.0 | 5 | 2 |",
        "| tests | 3 | 0.4 | 2 | 0 |",
        "| File | tests | CPU s | s by the clock | JVMs |",
        "| tests/b/test_y.py | 1 | 3.0 | 3 | 1 |",
        "| tests/a/test_x.py | 2 | 2.0 | 5 | 2 |",
        "| tests/b/c/test_z.py | 1 | 1.0 | 1 | 0 |",
        "| tests/test_w.py | 2 | 0.3 | 1 | 0 |",
        "| tests/test_v.py | 1 | 0.1 | 1 | 0 |",
    ]


BUSY = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True); input()"
LEAVES = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {BUSY!r}]); input()"


def test_what_a_process_left_behind_has_spent_counts_after_it_was_killed_unwaited_for() -> None:
    processes = Processes(os.getpid())
    before, jvms_before = processes.look()
    with subprocess.Popen([sys.executable, "-c", LEAVES], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        processes.look()
        parent.kill()
    after, jvms = processes.look()
    assert 0.29 <= after - before < 10, "0.3, less what a sum of fractions loses"
    assert jvms == jvms_before
