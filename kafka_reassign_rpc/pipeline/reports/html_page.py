"""An HTML page that needs nothing but itself: style, tables and SVG are inside, for a browser without network."""

from collections.abc import Collection, Iterable, Sequence
from html import escape

_STYLE = """
:root{--ink:#1c2733;--soft:#5b6876;--line:#e3e8ee;--ground:#f6f8fa;--card:#fff;--accent:#0f766e}
@media (prefers-color-scheme:dark){:root{--ink:#e6ebf0;--soft:#9aa7b5;--line:#2b3642;--ground:#12181f;--card:#1a222b;
--accent:#2dd4bf}figure svg{filter:invert(.88) hue-rotate(180deg)}}
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:1200px;margin:0 auto;padding:32px 24px 64px}h1{font-size:26px;margin:0 0 4px;letter-spacing:-.01em}
h2{font-size:18px;margin:40px 0 12px}p{margin:6px 0}.soft{color:var(--soft)}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(160px,1fr));gap:12px;margin:24px 0 8px}
.tile,.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px}
.tile b{display:block;font-size:22px;line-height:1.25;font-variant-numeric:tabular-nums}
.tile span{color:var(--soft);font-size:13px}.card{margin:12px 0;overflow-x:auto}
figure{margin:0}figure svg{width:100%;height:auto;display:block}
table{border-collapse:collapse;width:100%;font-size:14px;font-variant-numeric:tabular-nums}
th{text-align:left;color:var(--soft);font-weight:600;font-size:12px;text-transform:uppercase;letter-spacing:.03em}
th,td{padding:6px 12px 6px 0;border-bottom:1px solid var(--line);vertical-align:top}
tr:last-child td{border-bottom:0}td.n,th.n{text-align:right}td.n{white-space:nowrap}ul{margin:8px 0;padding-left:20px}
footer{margin-top:48px;color:var(--soft);font-size:13px}
@media print{body{background:#fff}.card,.tile{break-inside:avoid}}
"""


class HtmlPage:
    """Collects sections; `html` is the page."""

    def __init__(self, title: str, subtitle: str) -> None:
        self._title = title
        self._parts = [f"<h1>{escape(title)}</h1>", f'<p class="soft">{escape(subtitle)}</p>']

    def tiles(self, tiles: Iterable[tuple[str, str]]) -> None:
        """Figures that matter: (value, what it is)."""
        cells = (
            f'<div class="tile"><b>{escape(value)}</b><span>{escape(label)}</span></div>' for value, label in tiles
        )
        self._parts.append(f'<div class="tiles">{"".join(cells)}</div>')

    def heading(self, text: str, explained: str = "") -> None:
        self._parts.append(f"<h2>{escape(text)}</h2>")
        if explained:
            self._parts.append(f'<p class="soft">{escape(explained)}</p>')

    def figure(self, svg: str, label: str) -> None:
        self._parts.append(f'<div class="card"><figure role="img" aria-label="{escape(label)}">{svg}</figure></div>')

    def notes(self, lines: Sequence[str]) -> None:
        if lines:
            items = "".join(f"<li>{escape(line)}</li>" for line in lines)
            self._parts.append(f'<div class="card"><ul>{items}</ul></div>')

    def table(
        self, columns: Sequence[str], rows: Sequence[Sequence[str]], *, text: Collection[int] = (0,), more: int = 0
    ) -> None:
        """`text`: the columns that hold text; the others hold numbers. `more`: rows that are not shown."""
        kinds = ["" if place in text else ' class="n"' for place in range(len(columns))]
        head = "".join(f"<th{kind}>{escape(column)}</th>" for kind, column in zip(kinds, columns, strict=True))
        body = "".join(
            "<tr>" + "".join(f"<td{kind}>{escape(cell)}</td>" for kind, cell in zip(kinds, row, strict=True)) + "</tr>"
            for row in rows
        )
        rest = f'<p class="soft">… and {more} more</p>' if more else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        self._parts.append(f'<div class="card">{table}{rest}</div>')

    def text(self, line: str) -> None:
        self._parts.append(f"<p>{escape(line)}</p>")

    def html(self) -> str:
        body = "\n".join(self._parts)
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(self._title)}</title>\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{_STYLE}</style></head>\n'
            f"<body><main>\n{body}\n<footer>Made by kafka-reassign-rpc</footer>\n</main></body></html>\n"
        )
