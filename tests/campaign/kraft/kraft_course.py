"""A campaign on KRaft, from its seed to what it is made of."""

from collections.abc import Collection
from functools import partial

from tests.campaign.campaign import Course
from tests.campaign.executor import functions_in
from tests.stock.kraft import VERSION

from . import harm_steps, move_steps, operator_steps
from .kraft_kinds import APART, KINDS, unknown_to
from .kraft_plan import plan
from .kraft_site import KRaftSite, kraft_site
from .kraft_verdict import kraft_judge


def in_front_of_kraft(
    seed: int, seconds: float, off: Collection[str] = (), version: str = VERSION, *, small: bool = False
) -> Course:
    """`version`: of the stock brokers and controllers. `small`: they are the same processes, and nothing takes long."""
    steps = plan(seed, seconds, {*off, *unknown_to(version), *(APART if small else ())})
    nodes = "brokers that are the controllers" if small else "brokers and controllers"
    about = f"{seconds:g} s, {len(steps)} steps, {nodes} {version}, without {sorted(off) or 'nothing'}"
    functions = functions_in((harm_steps, move_steps, operator_steps), KINDS)
    return Course(about, steps, partial(kraft_site, version=version, small=small), functions, _watch, kraft_judge)


async def _watch(site: KRaftSite) -> None:
    await site.audit.run()
