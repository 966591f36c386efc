"""The page itself, and the files that it loads from this server. They need no other network.

The page has no data of the cluster but its id: the script puts all else in as text. Its policy allows nothing from
elsewhere, and no script or style inside of it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from kafka_reassign_rpc.core.status.moves import SORTS
from kafka_reassign_rpc.core.status.views import ServerView
from kafka_reassign_rpc.server.http_server import HttpPage

if TYPE_CHECKING:
    from jinja2 import Template

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
ASSETS = {
    "status.css": "text/css; charset=utf-8",
    "address.js": "text/javascript; charset=utf-8",
    "status.js": "text/javascript; charset=utf-8",
    "tables.js": "text/javascript; charset=utf-8",
    "format.js": "text/javascript; charset=utf-8",
    "plots.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_PAGE, _LIST = "page.html.j2", "clusters.html.j2"


@cache
def _template(name: str) -> "Template":
    """The import and the compilation take longer than the event loop may be held up."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # few servers serve a page

    loader = PackageLoader(__package__, "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined).get_template(name)


def page(view: ServerView, version: str, *, full: bool, api: str, name: str = "") -> HttpPage:
    """`full`: it has the tables whose API answers; `name`: of the cluster, where there are several."""
    who = f"watch {name}".rstrip() if view.server is None else f"server {view.server}"
    return _html(_PAGE, cluster=view.cluster_id, who=who, version=version, full=full, sorts=SORTS, api=api, name=name)


def list_page(rows: Sequence[Mapping[str, str | None]], version: str) -> HttpPage:
    """A row for each cluster. The page is loaded again and again, and needs no script."""
    return _html(_LIST, rows=rows, version=version)


def _html(template: str, **values: object) -> HttpPage:
    return HttpPage(_template(template).render(**values).encode(), "text/html; charset=utf-8", headers=HEADERS)


def assets() -> Mapping[str, Callable[[], HttpPage]]:
    """Reads files and compiles templates when it is called."""
    for template in (_PAGE, _LIST):
        _template(template)
    folder = files(__package__) / "assets"
    made = {
        f"/static/{name}": HttpPage((folder / name).read_bytes(), content_type, headers=HEADERS)
        for name, content_type in ASSETS.items()
    }
    return {path: _always(answer) for path, answer in made.items()}


def _always(answer: HttpPage) -> Callable[[], HttpPage]:
    return lambda: answer
