// Plots of the past as SVG: one line each, from 0 on, with gaps where nothing is known.

import { make, time } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 320;
const HEIGHT = 96;
const TOP = 6;
const GAP_STEPS = 3;

// `span`: the time that the plot shows, from `from` to `to`, whether or not the server knows all of it; `stepMs`
// from one point to the next.
export function plot(title, points, value, format, span) {
  const within = points.filter((point) => point.at >= span.from && point.at <= span.to);
  const known = within.filter((point) => value(point) !== null);
  const last = known.length === 0 ? null : value(known.at(-1));
  const most = Math.max(0, ...known.map(value));
  const now = make("strong", { textContent: known.length === 0 ? "nothing known yet" : format(last) });
  const highest = make("small", { className: "quiet", textContent: known.length === 0 ? "" : `highest ${format(most)}` });
  const figure = make("figure", {}, make("figcaption", { textContent: title }), now, highest);
  if (known.length > 1) figure.append(picture(title, within, value, most, format, span), axis(span));
  return figure;
}

function picture(title, points, value, most, format, span) {
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", preserveAspectRatio: "none" });
  svg.setAttribute("aria-label", `${title}: highest ${format(most)}`);
  const x = (point) => (((point.at - span.from) / (span.to - span.from)) * WIDTH).toFixed(1);
  const y = (point) => (HEIGHT - (most === 0 ? 0 : (value(point) / most) * (HEIGHT - TOP))).toFixed(1);
  for (const run of runs(points, value, span.stepMs)) {
    const line = run.map((point) => `${x(point)},${y(point)}`).join(" ");
    const area = `${x(run[0])},${HEIGHT} ${line} ${x(run.at(-1))},${HEIGHT}`;
    svg.append(element("polygon", { points: area, class: "area" }), element("polyline", { points: line, class: "line" }));
  }
  return svg;
}

// The first, the middle and the last time below the picture: texts of their own, since the picture is stretched.
function axis({ from, to }) {
  const label = (at) => make("span", { textContent: `${time(at).slice(11, 16)}${at === to ? " UTC" : ""}` });
  return make("div", { className: "axis quiet" }, ...[from, (from + to) / 2, to].map(label));
}

// Points that follow one another without a gap.
function runs(points, value, stepMs) {
  const found = [];
  let last = null;
  for (const point of points) {
    if (value(point) === null) {
      last = null;
      continue;
    }
    if (last === null || point.at - last.at > GAP_STEPS * stepMs) found.push([]);
    found.at(-1).push(point);
    last = point;
  }
  return found;
}

function element(kind, attributes) {
  const made = document.createElementNS(SVG, kind);
  for (const [name, text] of Object.entries(attributes)) made.setAttribute(name, text);
  return made;
}
