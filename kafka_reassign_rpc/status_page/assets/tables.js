// Fills tables: texts go in as text, never as markup, and a cell that has not changed stays as it is.

import { make, shortened, visible } from "./format.js";

// A cell: a text, or {text, lead, quiet, bar, label, tone, quietTone, whole}. lead: a figure next to the text; quiet: a second
// line; bar: from 0 to 1, with `label` for screen readers; tone, quietTone: how the lines look; whole: however long they are.
export function fill(table, rows, empty) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  if (rows.length === 0) {
    body.replaceChildren(make("tr", {}, make("td", { colSpan: heads.length, className: "quiet empty", textContent: empty })));
    return;
  }
  body.querySelector(".empty")?.parentElement.remove();
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((cells, at) => {
    const row = body.rows[at] ?? body.insertRow();
    cells.forEach((value, column) => {
      const cell = row.cells[column] ?? newCell(row, heads[column]);
      const wanted = typeof value === "string" ? { text: value } : value;
      const key = JSON.stringify(wanted);
      if (cell.shows !== key) {
        cell.shows = key;
        show(cell, wanted);
      }
    });
  });
}

function newCell(row, head) {
  const cell = row.insertCell();
  cell.className = head.className;
  cell.dataset.label = head.textContent;
  return cell;
}

function show(cell, { text, lead, quiet, bar, label, tone, quietTone, whole }) {
  const parts = [];
  if (bar !== undefined && bar !== null) {
    const shown = make("progress", { max: 1, value: bar });
    shown.setAttribute("aria-label", label);
    parts.push(shown);
  }
  parts.push(line("span", text, tone, whole));
  if (lead) parts.push(make("strong", { textContent: ` ${lead}` }));
  if (quiet) parts.push(line("small", quiet, quietTone ?? "quiet", whole));
  cell.classList.toggle("blank", !text && !quiet);
  cell.replaceChildren(make("div", {}, ...parts));
}

// A long text shows its start and its end, until the reader opens it.
function line(kind, text, tone, isWhole) {
  const whole = visible(text);
  const short = isWhole ? null : shortened(whole);
  return make(kind, tone ? { className: tone } : {}, short === null ? whole : folded(short, whole));
}

function folded(short, whole) {
  const texts = Object.entries({ short, whole }).map(([className, textContent]) => make("span", { className, textContent }));
  return make("details", {}, make("summary", {}, ...texts));
}
