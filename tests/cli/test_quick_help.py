"""The help of each command needs none of the large libraries."""

import subprocess
import sys

LARGE = ("matplotlib", "numpy", "pyarrow", "pyspark")
PROGRAM = f"""
import contextlib, io, sys
from kafka_reassign_rpc.cli.main import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print(*(name for name in {LARGE} if name in sys.modules))
"""


def test_sv_1_the_help_of_plans_and_other_jobs_is_shown_without_importing_large_libraries() -> None:
    for words in (["plan"], ["plan", "rebalance"], ["plan", "disks"], ["plan", "show"], ["submit"], ["history"]):
        command = [sys.executable, "-c", PROGRAM, *words, "--help"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "", words
