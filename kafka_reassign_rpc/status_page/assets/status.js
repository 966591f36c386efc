// The status page: server-sent events bring the summary; tables are fetched while the page is seen.

import { readAddress, writeAddress } from "./address.js";
import { UNKNOWN, count, duration, plural, rate, size, time, visible } from "./format.js";
import { plot } from "./plots.js";
import { fill } from "./tables.js";

const PAGE = 50;
const EVENTS = 30;
const TABLES_MS = 4000;
const PLOTS_MS = 15000;
const AGAIN_MS = 5000;
const SPANS_MS = { hour: 3_600_000, day: 86_400_000 };

const byId = (id) => document.getElementById(id);
const isFull = document.documentElement.dataset.access === "full";
const fields = document.querySelectorAll(".filter [name], #span");
const status = {};
let page = 1;
let stream = null;

// ------------------------------------------------------------------------------------------------ the summary

function connect() {
  stream?.close();
  stream = new EventSource("/api/v1/stream");
  stream.addEventListener("status", (event) => take(event));
  stream.addEventListener("changes", (event) => take(event));
  stream.addEventListener("open", () => live("live", false));
  stream.addEventListener("error", () => {
    if (stream.readyState === EventSource.CLOSED) {
      live("the server does not answer, trying again …", true);
      setTimeout(() => document.hidden || connect(), AGAIN_MS);
    }
  });
}

function live(text, isWrong) {
  byId("live").textContent = text;
  byId("live").classList.toggle("wrong", isWrong);
}

function take(event) {
  Object.assign(status, JSON.parse(event.data));
  live(`live, ${time(status.at)} UTC`, false);
  showHead();
  showTiles();
  showHealing();
  showCaps();
}

function showHead() {
  byId("role").textContent = `server ${status.server}: ${status.role === "none" ? "not ready" : status.role}`;
  byId("role").dataset.role = status.role;
  const { id, epoch, since } = status.controller;
  const isSelf = id === status.server;
  const parts = [];
  if (id === null) parts.push("no controller is known");
  else if (!isSelf) parts.push(`controller: ${id}`);
  if (epoch !== null) parts.push(`epoch ${epoch}`);
  if (since !== null) parts.push(`for ${duration(status.at - since)}`);
  byId("controller").textContent = parts.join(", ");
  byId("notices").replaceChildren(...notices());
}

function notices() {
  const found = [];
  if (status.role === "none") found.push(notice(status.reason ?? "this server is not ready", "wrong"));
  if (status.role === "standby") found.push(standbyNotice());
  if (status.enabled === false) {
    found.push(notice(`Reassignments are disabled: ${status.disabled_by}. Moves in flight go on.`, "wrong"));
  }
  if (status.access === "counts") {
    found.push(notice("Only counts are shown: nobody has to log in here (setting status.page).", ""));
  }
  return found;
}

function notice(text, tone) {
  const made = document.createElement("p");
  made.className = `notice ${tone}`;
  made.textContent = visible(text);
  return made;
}

function standbyNotice() {
  const { id, page } = status.controller;
  const made = notice(`This server stands by. Broker ${id} is the controller, and knows the moves. `, "");
  if (page !== null && /^https?:\/\//.test(page)) {
    const link = document.createElement("a");
    link.href = page;
    link.textContent = page;
    made.append("Its page: ", link);
  }
  return made;
}

function showTiles() {
  const totals = status.totals;
  const tiles = [["Brokers live", count(status.brokers_live)]];
  if (totals !== null) {
    const waiting = Object.values(totals.waiting).reduce((sum, number) => sum + number, 0);
    const unknown = totals.moves_without_size;
    tiles.unshift(
      ["In flight", count(totals.in_flight)],
      ["Waiting", count(waiting), Object.entries(totals.waiting).map(([route, number]) => `${count(number)} by ${route}`).join(", ")],
      ["Left to copy", size(totals.bytes_left), unknown ? `without ${plural(unknown, "move")} of unknown size` : ""],
      ["Rate", rate(totals.rate)],
      ["Remaining", duration(totals.remaining_ms)],
      ["Stalled", count(totals.stalled), "", totals.stalled ? "wrong" : ""],
      ["Under-replicated", count(totals.under_replicated), "partitions", totals.under_replicated ? "warn" : ""],
      ["Offline", count(totals.offline), "partitions", totals.offline ? "wrong" : ""],
    );
  }
  byId("tiles").replaceChildren(...tiles.map(tile));
  const bar = byId("overall");
  const isKnown = totals !== null && totals.in_flight > 0 && totals.bytes_left !== null && totals.bytes_total > 0;
  bar.hidden = !isKnown;
  if (isKnown) bar.value = Math.min(1, Math.max(0, 1 - totals.bytes_left / totals.bytes_total));
}

function tile([name, value, more = "", tone = ""]) {
  const box = document.createElement("div");
  const term = document.createElement("dt");
  const figure = document.createElement("dd");
  term.textContent = name;
  figure.textContent = value;
  if (value === UNKNOWN) figure.className = "quiet";
  else if (tone) figure.className = tone;
  box.append(term, figure);
  if (more) {
    const line = document.createElement("dd");
    line.className = "quiet more";
    line.textContent = more;
    box.append(line);
  }
  return box;
}

function showHealing() {
  const healing = status.healing;
  const table = byId("failed");
  table.hidden = !healing || healing.failed.length === 0;
  byId("problems").replaceChildren(...(healing?.problems ?? []).map((text) => Object.assign(document.createElement("li"), { textContent: visible(text) })));
  if (!healing) {
    byId("healing").textContent = status.role === "controller" ? "Not diagnosed yet." : "The controller knows.";
    return;
  }
  const parts = [healing.interval_ms === null ? "Off" : `On: a broker has to be gone for ${duration(healing.interval_ms)}`];
  if (healing.paused) parts.push("paused");
  if (healing.in_flight || healing.waiting) parts.push(`repairs: ${plural(healing.in_flight, "move")} in flight, ${count(healing.waiting)} waiting`);
  if (healing.held_back) parts.push(`held back: ${healing.held_back}`);
  for (const one of healing.repairs) parts.push(`repair of broker ${one.broker}: ${count(one.in_flight)} in flight, ${count(one.waiting)} waiting`);
  byId("healing").textContent = `${parts.join("; ")}.`;
  fill(table, healing.failed.map((one) => [`${one.broker}`, duration(status.at - one.since), countdown(one.heal_at), count(one.replicas)]), "");
}

function countdown(at) {
  if (at === null) return "never";
  return at <= status.at ? { text: "now", tone: "warn" } : `in ${duration(at - status.at)}`;
}

function showCaps() {
  const caps = status.caps;
  if (caps === null) {
    byId("caps").textContent = "The controller knows.";
    return;
  }
  const cap = (value, format) => (value === null ? "no cap" : format(value));
  byId("caps").textContent =
    `Moves in flight per broker: ${cap(caps.moves_per_broker, count)}; in the cluster: ${cap(caps.moves_per_cluster, count)}; ` +
    `bytes in flight: ${cap(caps.bytes_in_flight, size)}.`;
}

// ------------------------------------------------------------------------------------------------- the tables

async function ask(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== "" && value !== null));
  const answer = await fetch(`/api/v1/${path}${query.size ? `?${query}` : ""}`);
  return { isThere: answer.ok, body: await answer.json() };
}

const entries = (form) => Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
const replicas = (ids) => `[${ids.join(", ")}]`;

async function showMoves() {
  const offset = (page - 1) * PAGE;
  const { isThere, body } = await ask("moves", { ...entries(byId("moves-filter")), offset, limit: PAGE });
  byId("moves-back").disabled = offset === 0;
  byId("moves-on").disabled = !isThere || offset + PAGE >= body.count;
  if (!isThere) {
    byId("moves-sums").textContent = byId("moves-page").textContent = "";
    return fill(byId("moves"), [], body.error);
  }
  const { sums } = body;
  byId("moves-sums").textContent =
    `${plural(sums.in_flight, "move")} in flight, ${count(sums.waiting)} waiting, ${count(sums.stalled)} stalled` +
    (sums.in_flight ? `; ${size(sums.bytes_copied)} of ${size(sums.bytes_total)} copied` : "") +
    (sums.moves_without_size ? `, without ${plural(sums.moves_without_size, "move")} of unknown size` : "") +
    (body.at - body.listed_at > 2000 ? `; sums and order of ${duration(body.at - body.listed_at)} ago` : "");
  byId("moves-page").textContent = body.moves.length ? `${count(offset + 1)}–${count(Math.min(offset + PAGE, body.count))} of ${count(body.count)}` : "";
  return fill(byId("moves"), body.moves.map((move) => moveRow(move, body.at)), body.count ? "No move is on this page." : "No move is in flight or waits.");
}

function moveRow(move, now) {
  const name = `${move.topic}-${move.partition}`;
  const isKnown = move.bytes_total !== null && move.bytes_copied !== null;
  const done = !isKnown ? null : move.bytes_total === 0 ? 1 : Math.min(1, move.bytes_copied / move.bytes_total);
  const amount = isKnown ? `${size(move.bytes_copied)} of ${size(move.bytes_total)}` : move.bytes_total === null ? "size unknown" : `unknown of ${size(move.bytes_total)}`;
  const isWaiting = move.state === "waiting";
  return [
    { text: name, quiet: isWaiting ? "waits" : move.leader === null ? "no leader" : `leader ${move.leader}` },
    { text: `${replicas(move.original)} → ${replicas(move.target)}` },
    {
      text: isWaiting && move.bytes_total !== null ? size(move.bytes_total) : move.adding.length === 0 ? "nothing to copy" : amount,
      bar: isWaiting || move.adding.length === 0 ? null : done,
      label: `${name}: copied`,
      quiet: move.stalled === null ? "" : `stalled: ${move.stalled}`,
      quietTone: "wrong",
    },
    isWaiting ? "" : rate(move.rate),
    isWaiting ? "" : duration(move.remaining_ms),
    { text: move.who ?? UNKNOWN, quiet: [move.reason, `by ${move.route}`].filter(Boolean).join(" · "), tone: move.who === null ? "quiet" : "" },
    isWaiting ? "" : move.since === null ? UNKNOWN : { text: duration(now - move.since), quiet: time(move.since) },
  ];
}

async function showBrokers() {
  const { isThere, body } = await ask("brokers");
  const rows = isThere ? body.brokers.map(brokerRow) : [];
  fill(byId("brokers"), rows, isThere ? "No broker is registered." : body.error);
}

function brokerRow(broker) {
  const state = !broker.alive ? "dead" : broker.shutting_down ? "shutting down" : "alive";
  const throttle = (one) => (one === null ? "none" : { text: rate(one.rate), quiet: one.by === "lease" ? "by a lease of moves" : "by a config" });
  return [
    { text: `${broker.id}`, quiet: state, tone: broker.alive ? "" : "wrong" },
    broker.rack ?? (broker.alive ? "none" : UNKNOWN),
    rate(broker.rate_in),
    rate(broker.rate_out),
    throttle(broker.throttle_in),
    throttle(broker.throttle_out),
    count(broker.replicas),
    count(broker.leaders),
  ];
}

async function showEvents() {
  const { isThere, body } = await ask("events", { ...entries(byId("events-filter")), limit: EVENTS });
  const missing = isThere ? body.missing : [];
  byId("events-missing").textContent = missing.map((one) => `Events of server ${one.server} are missing: ${one.why}.`).join(" ");
  fill(byId("events"), isThere ? body.events.map(eventRow) : [], isThere ? "No event." : body.error);
}

function eventRow(event) {
  const of = [];
  if (event.topic !== undefined) of.push(event.partition === undefined ? event.topic : `${event.topic}-${event.partition}`);
  if (event.broker !== undefined) of.push(`broker ${event.broker}`);
  const what = [];
  if (event.target) what.push(`to ${replicas(event.target)}`);
  if (event.copied !== undefined) what.push(`${size(event.copied)} copied`);
  if (event.bytes !== undefined) what.push(rate(event.bytes));
  if (event.count !== undefined) what.push(count(event.count));
  if (event.reason) what.push(event.reason);
  return [time(event.at), event.event, of.join(", "), event.who ?? "", what.join("; "), `${event.server ?? ""}`];
}

async function showPlots() {
  const chosen = byId("span").value;
  const { isThere, body } = await ask("history", { span: chosen });
  if (!isThere) return;
  const span = { from: body.at - SPANS_MS[chosen], to: body.at, stepMs: body.step_ms };
  const draw = (title, value, format) => plot(title, body.points, value, format, span);
  byId("plots").replaceChildren(
    draw("In flight", (point) => point.in_flight, count),
    draw("Waiting", (point) => point.waiting, count),
    draw("Rate", (point) => point.rate, rate),
    draw("Left to copy", (point) => point.bytes_left, size),
    draw("Under-replicated", (point) => point.under_replicated, count),
    draw("Offline", (point) => point.offline, count),
  );
}

// --------------------------------------------------------------------------------------------- keeping it up to date

// Calls `show` now and again after each pause, one at a time, while the page is seen. Returns a function that hurries it.
function repeat(show, pause) {
  let timer = 0;
  let isBusy = false;
  let again = false;
  async function run() {
    clearTimeout(timer);
    if (isBusy) {
      again = true;
      return;
    }
    isBusy = true;
    try {
      if (!document.hidden) await show();
    } catch (error) {
      console.warn("the server did not answer", error);
    }
    isBusy = false;
    timer = setTimeout(run, again ? 0 : pause);
    again = false;
  }
  run();
  return run;
}

page = readAddress(fields);
const hurries = [repeat(showPlots, PLOTS_MS)];
byId("span").addEventListener("change", () => {
  writeAddress(fields, page, true);
  hurries[0]();
});
if (isFull) {
  const moves = repeat(showMoves, TABLES_MS);
  const events = repeat(showEvents, TABLES_MS);
  hurries.push(moves, events, repeat(showBrokers, TABLES_MS));
  const turn = (by) => () => {
    page = Math.max(1, page + by);
    writeAddress(fields, page, true);
    moves();
  };
  byId("moves-back").addEventListener("click", turn(-1));
  byId("moves-on").addEventListener("click", turn(1));
  for (const [form, show] of [[byId("moves-filter"), moves], [byId("events-filter"), events]]) {
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", (event) => {
      page = form.id === "moves-filter" ? 1 : page;
      writeAddress(fields, page, event.target.tagName === "SELECT");
      show();
    });
  }
}
window.addEventListener("popstate", () => {
  page = readAddress(fields);
  hurries.forEach((hurry) => hurry());
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    stream?.close();
  } else {
    connect();
    hurries.forEach((hurry) => hurry());
  }
});
connect();
