"""The page of the walk is true, and the walk becomes no longer."""

import re

from tests.controller.walk import PAGE, Call, walk_of, walks

ROW = re.compile(r"^\| `([\w/]+\.py)` \|", re.MULTILINE)
MOST = {"AlterPartitionReassignments": 31, "AlterPartition": 26}
"""Files that hand on a request. Whoever follows it opens them: a new indirection costs every reader."""


async def test_sv_3_the_page_lists_the_files_that_hand_a_request_on_and_they_become_no_more(zk_connect: str) -> None:
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL))
    found = await walks(zk_connect)
    assert found.keys() == sections.keys() == MOST.keys()
    for name, walk in found.items():
        listed = set(ROW.findall(sections[name]))
        run = {*walk.handing_on, *walk.leaves, *walk.duties}
        assert walk.handing_on.keys() <= listed, "run: python -m tests.controller.walk"
        assert listed <= run, "run: python -m tests.controller.walk"
        assert len(listed) <= MOST[name]


def test_sv_3_a_file_is_entered_at_its_first_function_that_works() -> None:
    trace = [
        Call("a.py", "A.__init__", "", is_duty=False, works=False),
        Call("b.py", "B.size", "a.py", is_duty=False, works=False),
        Call("a.py", "A.answer", "b.py", is_duty=False),
        Call("b.py", "B.write", "a.py", is_duty=False),
        Call("c.py", "C.__init__", "a.py", is_duty=False, works=False),
    ]
    found = walk_of([trace])
    assert found.handing_on == {"a.py": "A.answer", "b.py": "B.write"}
    assert found.leaves == {"c.py": "C.__init__"}
