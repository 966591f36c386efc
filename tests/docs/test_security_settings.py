"""The documentation says of each security setting of Kafka whether it is supported here.

`security_settings.txt` has the settings of Kafka 3.9 (`SecuritySettings.java` prints them).
"""

import re
import subprocess
from pathlib import Path

import pytest

from tests.jvm import QUICK
from tests.stock.jars import BROKER_VERSION, classpath, require

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
RECORDED = HERE / "security_settings.txt"
PAGES = ("security.md", "security-outward.md", "authorization.md", "settings.md")


def documented() -> re.Pattern[str]:
    """What the first column of a table on one of the pages names: `<…>` means a part of a name, `*` the rest of one,
    behind two parts at least.
    """
    names = set()
    for page in PAGES:
        rows = [line.split("|")[1] for line in (DOCS / page).read_text().splitlines() if line.startswith("| `")]
        names |= {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    names = {name for name in names if "*" not in name or name.count(".") > 1}
    patterns = (re.escape(name).replace(r"\*", r".+") for name in names)
    return re.compile("|".join(re.sub(r"<[a-z]+>", r"[a-z0-9-]+", pattern) for pattern in patterns))


def test_sv_5_each_security_setting_of_kafka_is_documented_as_supported_or_not() -> None:
    known = documented()
    missing = [name for name in RECORDED.read_text().split() if not known.fullmatch(name)]
    assert not missing
    assert not known.fullmatch("ssl.no.such.setting"), "a missing one would be seen"


@pytest.mark.gate
@pytest.mark.stock
def test_sv_5_the_recorded_security_settings_are_those_of_kafka() -> None:
    require(BROKER_VERSION)
    command = ["java", *QUICK, "-cp", classpath(BROKER_VERSION), str(HERE / "SecuritySettings.java")]
    found = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    assert found.split() == RECORDED.read_text().split()
