"""docs/secured-cluster.md shows the files of examples/secured-cluster as they are. `tests/deploy` serves with them."""

from pathlib import Path

from tests.docs.secured_page import files_of_the_page, steps_of_the_page
from tests.secured_example import EXAMPLE, make_certificates


def test_sv_5_the_page_of_a_secured_cluster_shows_each_file_of_the_example() -> None:
    assert files_of_the_page() == {file.name: file.read_text() for file in EXAMPLE.iterdir()}


def test_sv_5_the_certificates_of_the_page_are_made_as_it_says(tmp_path: Path) -> None:
    step = steps_of_the_page({})[0]
    ((password, shell, script, *nodes),) = step.commands
    assert (shell, script) == ("sh", "certificates.sh")
    printed = make_certificates(tmp_path, *nodes, password=password.removeprefix("STORE_PASSWORD="))
    assert step.printed.fullmatch(printed)
    made = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    assert {name: mode for name, mode in made.items() if mode != 0o600} == {"ca.pem": 0o644}
    assert made.keys() == {"ca.key", "ca.pem", "ca.srl", *(f"{node}.p12" for node in nodes)}
