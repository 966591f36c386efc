// Fills tables: texts go in as text, never as markup, and a cell that has not changed stays as it is.

import { shortened, visible } from "./format.js";

// A cell: a text, or {text, lead, quiet, bar, label, tone, quietTone, whole}. lead: a figure next to the text; quiet: a second
// line; bar: from 0 to 1, with `label` for screen readers; tone, quietTone: how the lines look; whole: however long they are.
export function fill(table, rows, empty) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  if (rows.length === 0) {
    const cell = document.createElement("td");
    cell.colSpan = heads.length;
    cell.className = "quiet empty";
    cell.textContent = empty;
    const row = document.createElement("tr");
    row.append(cell);
    body.replaceChildren(row);
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
    const shown = document.createElement("progress");
    shown.max = 1;
    shown.value = bar;
    shown.setAttribute("aria-label", label);
    parts.push(shown);
  }
  parts.push(line("span", text, tone, whole));
  if (lead) parts.push(Object.assign(document.createElement("strong"), { textContent: ` ${lead}` }));
  if (quiet) parts.push(line("small", quiet, quietTone ?? "quiet", whole));
  cell.classList.toggle("blank", !text && !quiet);
  const box = document.createElement("div");
  box.append(...parts);
  cell.replaceChildren(box);
}

// A long text shows its start and its end, until the reader opens it.
function line(kind, text, tone, isWhole) {
  const whole = visible(text);
  const short = isWhole ? null : shortened(whole);
  const made = document.createElement(kind);
  if (short === null) made.textContent = whole;
  else made.append(folded(short, whole));
  if (tone) made.className = tone;
  return made;
}

function folded(short, whole) {
  const made = document.createElement("details");
  const summary = document.createElement("summary");
  const texts = { short, whole };
  summary.append(...Object.keys(texts).map((name) => Object.assign(document.createElement("span"), { className: name, textContent: texts[name] })));
  made.append(summary);
  return made;
}
