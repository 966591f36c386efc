// The status page: server-sent events bring the summary; tables are fetched while the page is seen.

import { readAddress, writeAddress } from "./address.js";
import { UNKNOWN, count, duration, isPhone, make, part, plural, rate, size, time, visible } from "./format.js";
import { plot } from "./plots.js";
import { fill } from "./tables.js";

// A phone shows what is urgent on three screens: fewer rows at a time, and the other parts folded until they are asked for.
const PAGE = isPhone ? 12 : 50;
const EVENTS = isPhone ? 12 : 30;
const TABLES_MS = 4000;
const PLOTS_MS = 15000;
const AGAIN_MS = 5000;
const OLD_MS = 10_000;
const SPANS_MS = { hour: 3_600_000, day: 86_400_000 };

const API = document.documentElement.dataset.api;
const byId = (id) => document.getElementById(id);
const isFull = document.documentElement.dataset.access === "full";
const fields = document.querySelectorAll(".filter [name], #span");
const status = {};
let shown = status; // the present; where the server does not know it, what was known last
let page = 1;
let stream = null;
let past = null; // what is plotted
let taken = 0; // when the status came, by the browser's clock
const madeAt = new Map(); // when what a part shows was made, by the server's clock

// ------------------------------------------------------------------------------------------------ the summary

function connect() {
  stream?.close();
  stream = new EventSource(`${API}stream`);
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
  shown = status.totals === null && status.last ? status.last : status;
  taken = performance.now();
  document.body.classList.toggle("stale", shown !== status || isBlind());
  live(`live, ${time(status.at)} UTC`, false);
  showHead();
  showTiles();
  showGroups();
  drawPlots();
  // Not those of watch: a stock controller has none.
  for (const one of document.querySelectorAll(".of-server")) one.hidden = status.server === null;
  showHealing();
  showCaps();
}

// What watch shows while it gets no answers is old.
const isBlind = () => status.server === null && status.problems.some(({ kind, level, since }) => level === "wrong" && since !== null && (kind === "unseen" || kind === "no_controller"));

// All parts show one time, that of the head. What is older is grey, with its age.
function showAges() {
  if (status.at === undefined) return;
  const now = status.at + performance.now() - taken;
  madeAt.set("h-sums", status.at);
  if (now - status.at > OLD_MS) live("the server does not answer, trying again …", true);
  for (const [id, at] of madeAt) {
    const heading = byId(id);
    const age = now - at > OLD_MS ? ` ${duration(now - at)} old` : "";
    const section = heading.closest("section");
    section.classList.toggle("old", age !== "");
    let label = section.querySelector(".age");
    if (label === null && age !== "") section.prepend((label = make("small", { className: "age quiet" })));
    if (label !== null) label.textContent = age;
  }
}

function showHead() {
  const role = status.role === "none" ? "not ready" : status.role;
  byId("role").textContent = status.server === null ? `watch: ${status.role === "watch" ? "looks on" : role}` : `server ${status.server}: ${role}`;
  byId("role").dataset.role = status.role;
  const { id, epoch, since } = status.controller;
  const isSelf = id === status.server;
  const parts = [];
  if (id === null) parts.push(status.role === "watch" ? "the controller is not known" : "no controller is known");
  else if (!isSelf) parts.push(`controller: ${id}`);
  if (epoch !== null) parts.push(`epoch ${epoch}`);
  if (since !== null) parts.push(`for ${duration(status.at - since)}`);
  byId("controller").textContent = parts.join(", ");
  byId("notices").replaceChildren(...notices());
}

function notices() {
  const found = status.problems.map((one) => notice(one.text, one.level));
  if (shown !== status) found.push(...lastKnown());
  else if (status.totals === null && status.server !== null) found.push(notice("This server has known no state of the moves before.", ""));
  if (status.role === "standby" && status.controller.id !== null) found.push(standbyNotice());
  if (status.access === "counts") {
    found.push(notice("Only counts are shown: this page needs no login (setting status.page).", ""));
  }
  return found;
}

// Only its age says what a state that was known once is still worth.
function lastKnown() {
  const last = notice(`Last known state, of ${time(shown.at)} UTC, ${duration(status.at - shown.at)} ago: it is shown in grey, and may have changed since.`, "warn");
  return [last, ...shown.problems.map((one) => notice(`then: ${one.text}`, "old"))];
}

const notice = (text, tone) => make("p", { className: `notice ${tone}`, textContent: visible(text) });

function standbyNotice() {
  const { id, page } = status.controller;
  const made = notice(`This server stands by. Broker ${id} is the controller, and knows the moves. `, "");
  if (page !== null && /^https?:\/\//.test(page)) made.append("Its page: ", make("a", { href: page, textContent: page }));
  return made;
}

function waitingBy({ waiting, held }) {
  const routes = Object.entries(waiting ?? {}).map(([route, number]) => `${count(number)} by ${route}`);
  return [...routes, ...(held ? [`${count(held)} of them held`] : [])].join(", ");
}

function showTiles() {
  const { totals, work } = shown;
  const lost = shown.brokers_lost ?? 0;
  const tiles = [["Brokers live", lost ? `${count(shown.brokers_live)} of ${count(shown.brokers_live + lost)}` : count(shown.brokers_live), "", lost ? "wrong" : ""]];
  if (totals !== null) {
    const waiting = totals.waiting && Object.values(totals.waiting).reduce((sum, number) => sum + number, 0);
    const unknown = work.moves_without_size;
    tiles.unshift(
      ["In flight", count(totals.in_flight), "", "", { state: "moving" }],
      ["Waiting", count(waiting), waitingBy(totals), "", { state: "waiting" }],
      ["Left to copy", size(work.bytes_left), unknown ? `${plural(unknown, "move")} of unknown size` : "", "", { sort: "left" }],
      ["Rate", rate(totals.rate), "", "", { sort: "rate" }],
      ["All done in", duration(work.done_ms), work.no_estimate ? `no estimate: ${work.no_estimate}` : "", "", { sort: "remaining" }],
      ["Stalled", count(totals.stalled), "", totals.stalled ? "wrong" : "", { state: "stalled" }],
      ["Under-replicated", count(totals.under_replicated), "partitions", totals.under_replicated ? "warn" : "", { state: "under_replicated" }, "partitions"],
      ["Offline", count(totals.offline), "partitions", totals.offline ? "wrong" : "", { state: "offline" }, "partitions"],
    );
  }
  byId("tiles").replaceChildren(...tiles.map(tile));
  const bar = byId("overall");
  bar.hidden = work === null || work.share === null || work.moves === 0;
  if (!bar.hidden) bar.value = work.share;
}

// `filter`: the moves that the figure is about; the reader gets them by a click.
function tile([name, value, more = "", tone = "", filter = null, of = "moves"]) {
  const term = make("dt", {}, filter !== null && isFull ? filterButton(name, filter, of) : name);
  const figure = make("dd", { textContent: value, className: value === UNKNOWN ? "quiet" : tone });
  return make("div", {}, term, figure, ...(more ? [make("dd", { className: "quiet more", textContent: more })] : []));
}

function filterButton(name, filter, of) {
  const title = `Show these ${of}: ${Object.entries(filter).map(([key, value]) => `${key} ${value}`).join(", ")}`;
  const made = make("button", { type: "button", className: "tile", textContent: name, title });
  made.addEventListener("click", () => choose(filter, of));
  return made;
}

// Puts a filter into its fields, as if the reader had chosen it there; a second click takes it away.
function choose(filter, of) {
  const form = byId(`${of}-filter`);
  const isChosen = Object.entries(filter).every(([name, value]) => form.elements[name].value === value);
  form.reset();
  if (!isChosen) for (const [name, value] of Object.entries(filter)) form.elements[name].value = value;
  form.elements.state.dispatchEvent(new Event("input", { bubbles: true }));
  unfold(`h-${of}`);
  byId(`h-${of}`).scrollIntoView({ block: "start" });
}

const isFolded = (id) => byId(id).closest(".part")?.open === false;

function unfold(id) {
  const part = byId(id)?.closest(".part");
  if (part) part.open = true;
}

// The moves that came together, with one bar for each group: they fold.
function showGroups() {
  const groups = shown.groups ?? [];
  const box = byId("groups");
  if (box === null) return;
  box.hidden = groups.length === 0;
  box.querySelector("summary").textContent = `By request or plan: ${count(groups.length)}`;
  fill(byId("groups-table"), groups.map(groupRow), "");
}

function groupRow(group) {
  const parts = [`${count(group.in_flight)} in flight`, ...(group.waiting === null ? [] : [`${count(group.waiting)} waiting`]), `${count(group.ended)} ended`];
  const amount = group.bytes_total === null ? "size unknown" : `${size(group.bytes_copied)} of ${size(group.bytes_total)}`;
  return [
    { text: group.reason ?? "without a reason", quiet: group.route === null ? "" : `by ${group.route}`, tone: group.reason === null ? "quiet" : "" },
    { text: amount, bar: group.share, label: `${group.reason ?? group.route ?? "without a reason"}: copied` },
    { text: parts.join(", "), quiet: group.stalled ? `${count(group.stalled)} stalled` : "", quietTone: "wrong" },
  ];
}

function showHealing() {
  const healing = shown.healing;
  const table = byId("failed");
  const disks = healing?.failed_log_dirs ?? [];
  const gone = healing?.gone ?? [];
  table.hidden = !healing || healing.failed.length + disks.length + gone.length === 0;
  byId("problems").replaceChildren(...(healing?.problems ?? []).map((text) => make("li", { textContent: visible(text) })));
  if (!healing) {
    byId("healing").textContent = status.role === "controller" ? "Not diagnosed yet." : "The controller knows.";
    return;
  }
  const parts = [healing.interval_ms === null ? "Off" : `On: a broker has to be gone for ${duration(healing.interval_ms)}`];
  if (healing.approval) parts.push("each repair waits until it is approved");
  if (healing.paused) parts.push("paused");
  if (healing.in_flight || healing.waiting) parts.push(`repairs: ${plural(healing.in_flight, "move")} in flight, ${count(healing.waiting)} waiting`);
  if (healing.held_back) parts.push(`held back: ${healing.held_back}`);
  const lost = [...healing.failed, ...gone, ...disks];
  // The repair of a lost broker is in its row.
  for (const one of healing.repairs.filter((repair) => lost.every((other) => other.broker !== repair.broker))) {
    parts.push(`repair of broker ${one.broker}: ${count(one.in_flight)} in flight, ${count(one.waiting)} waiting${one.waiting ? `, to copy: ${cost(one)}` : ""}`);
  }
  byId("healing").textContent = `${parts.join("; ")}.`;
  const rows = healing.failed.map((one) => [`${one.broker}`, duration(status.at - one.since), fateCell(one), count(one.replicas), cost(one)]);
  const rowsOfGone = gone.map((one) => [`${one.broker}`, one.since === null ? "not known" : duration(status.at - one.since), fateCell(one), count(one.repaired), one.bytes ? cost(one) : ""]);
  const rowsOfDisks = disks.map((one) => [{ text: `${one.broker}`, quiet: one.log_dirs?.length ? `log dir ${visible(one.log_dirs.join(", "))}` : "a log dir" }, duration(status.at - one.since), fateCell(one), one.replicas === null ? "not known yet" : count(one.replicas), cost(one)]);
  const byBroker = (one) => Number(one[0].text ?? one[0]);
  fill(table, [...rows, ...rowsOfGone, ...rowsOfDisks].toSorted((a, b) => byBroker(a) - byBroker(b)), "");
}

function cost(one) {
  if (one.bytes === null) return "not known";
  return `${one.unsized ? "at least " : ""}${size(one.bytes)}${one.copy_ms === null ? "" : ` in about ${duration(one.copy_ms)}`}`;
}

// What happens next, and when, or what somebody has to type for it.
function fateCell(one) {
  const at = one.heal_at ?? null;
  if (at === null || one.impossible) return { text: one.fate || "not known", quiet: one.command ?? "", whole: true };
  const what = shown.healing.approval ? "ready for approval" : "healed";
  return at <= status.at ? { text: `${what} now`, tone: "warn" } : `${what} in ${duration(at - status.at)}`;
}

function showCaps() {
  const caps = shown.caps;
  if (caps === null) {
    byId("caps").textContent = "The controller knows.";
    return;
  }
  const cap = (value, format) => (value === null ? "no cap" : format(value));
  byId("caps").textContent =
    `Moves in flight per broker: ${cap(caps.moves_per_broker, count)}; in the cluster: ${cap(caps.moves_per_cluster, count)}; ` +
    `bytes in flight: ${cap(caps.bytes_in_flight, size)}.` +
    shown.notes.map(({ name, text }) => ` ${name[0].toUpperCase()}${name.slice(1)}: ${text}.`).join("");
}

// ------------------------------------------------------------------------------------------------- the tables

async function ask(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== "" && value !== null));
  const answer = await fetch(`${API}${path}${query.size ? `?${query}` : ""}`);
  return { isThere: answer.ok, body: await answer.json() };
}

const entries = (form) => Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
const replicas = (ids) => `[${ids.join(", ")}]`;

function comesAndGoes({ adding, removing }) {
  const parts = [];
  if (adding.length) parts.push(`${adding.join(", ")} ${adding.length === 1 ? "comes" : "come"}`);
  if (removing.length) parts.push(`${removing.join(", ")} ${removing.length === 1 ? "goes" : "go"}`);
  return parts.length ? parts.join("; ") : "only the order";
}

async function showMoves() {
  const offset = (page - 1) * PAGE;
  const { isThere, body } = await ask("moves", { ...entries(byId("moves-filter")), offset, limit: PAGE });
  byId("moves-back").disabled = offset === 0;
  byId("moves-on").disabled = !isThere || offset + PAGE >= body.count;
  if (!isThere) {
    byId("moves-sums").textContent = byId("moves-page").textContent = "";
    return fill(byId("moves"), [], body.error);
  }
  madeAt.set("h-moves", body.at);
  const { sums } = body;
  byId("moves-sums").textContent =
    `${plural(sums.in_flight, "move")} in flight, ${sums.waiting === null ? "" : `${count(sums.waiting)} waiting, `}${count(sums.stalled)} stalled` +
    (sums.in_flight && part(sums.bytes_copied, sums.bytes_total) ? `; ${part(sums.bytes_copied, sums.bytes_total)} copied` : "") +
    (sums.moves_without_size ? `, without ${plural(sums.moves_without_size, "move")} of unknown size` : "") +
    (body.at - body.listed_at > 2000 ? `; sums and order of ${duration(body.at - body.listed_at)} ago` : "");
  if (body.count === 0) byId("moves-sums").textContent = ""; // the table says so
  byId("moves-page").textContent = body.moves.length ? `${count(offset + 1)}–${count(Math.min(offset + PAGE, body.count))} of ${count(body.count)}` : "";
  return fill(byId("moves"), body.moves.map((move) => moveRow(move, body.at)), body.count ? "No move is on this page." : "No move is in flight or waits.");
}

function moveRow(move, now) {
  const name = `${move.topic}-${move.partition}`;
  const amount = move.share !== null ? `${size(move.bytes_copied)} of ${size(move.bytes_total)}` : move.bytes_total === null ? "size unknown" : `unknown of ${size(move.bytes_total)}`;
  const isWaiting = move.state === "waiting";
  return [
    { text: name, lead: isPhone && !isWaiting && move.share !== null ? `${Math.floor(100 * move.share)} %` : "", quiet: isWaiting ? "waits" : !move.leader_known ? `leader ${UNKNOWN}` : move.leader === null ? "no leader" : `leader ${move.leader}` },
    { text: `${replicas(move.original)} → ${replicas(move.target)}`, quiet: comesAndGoes(move) },
    {
      text: move.adding.length === 0 ? "nothing to copy" : isWaiting && move.bytes_total !== null ? size(move.bytes_total) : amount,
      bar: move.share,
      label: `${name}: copied`,
      quiet: move.stalled !== null ? `stalled: ${move.stalled}` : move.waits_for !== null ? `waits for ${move.waits_for}` : "",
      quietTone: move.stalled !== null ? "wrong" : "",
      whole: true,
    },
    isWaiting ? (move.place === null ? "" : `place ${count(move.place)}`) : rate(move.rate),
    isWaiting ? "" : duration(move.remaining_ms),
    { text: move.who ?? UNKNOWN, quiet: [move.reason, move.route && `by ${move.route}`].filter(Boolean).join(" · "), tone: move.who === null ? "quiet" : "" },
    isWaiting ? "" : move.since === null ? UNKNOWN : { text: duration(now - move.since), quiet: time(move.since) },
  ];
}

// Nothing is asked for until the reader looks for something.
async function showPartitions() {
  const wanted = entries(byId("partitions-filter"));
  if (Object.values(wanted).every((value) => value === "")) {
    byId("partitions-count").textContent = "Any partition, whether it moves or not.";
    byId("partitions").hidden = true;
    return;
  }
  const { isThere, body } = await ask("partitions", { ...wanted, limit: PAGE });
  byId("partitions").hidden = false;
  byId("partitions-count").textContent = isThere ? `${plural(body.count, "partition")}${body.count > PAGE ? `, the first ${PAGE}` : ""}` : "";
  fill(byId("partitions"), isThere ? body.partitions.map(partitionRow) : [], isThere ? "There is no such partition." : body.error);
}

function partitionRow(found) {
  const wrong = found.offline ? "offline" : found.under_replicated ? "under-replicated" : "";
  return [
    { text: `${found.topic}-${found.partition}`, quiet: found.isr === null ? `leader ${UNKNOWN}` : found.leader === null ? "no leader" : `leader ${found.leader}` },
    { text: replicas(found.replicas), quiet: found.adding.length || found.removing.length ? comesAndGoes(found) : "" },
    found.isr === null ? UNKNOWN : replicas(found.isr),
    { text: found.state.replace("_", " "), quiet: wrong, quietTone: found.offline ? "wrong" : "warn" },
    size(found.size),
  ];
}

async function showBrokers() {
  if (isFolded("brokers")) return;
  const { isThere, body } = await ask("brokers");
  if (isThere) madeAt.set("h-brokers", body.at);
  const { common, others } = commonTo(isThere ? [...body.brokers.map((one) => [`${one.id}`, one.departure]), ...body.racks.map((one) => [`rack ${one.rack}`, one.departure])] : []);
  byId("brokers-common").textContent = common.length ? `Whichever broker goes now${others.length ? `, except ${others.join(", ")}` : ""}: ${common.join("; ")}.` : "";
  const rows = isThere ? body.brokers.map((broker) => brokerRow(broker, body.at, common)) : [];
  fill(byId("brokers"), rows, isThere ? "No broker is registered." : body.error);
  const racks = isThere ? body.racks : [];
  byId("racks").hidden = racks.length === 0;
  fill(byId("racks"), racks.map((one) => [one.rack, count(one.brokers.length), mayGoCell(one.departure, common)]), "");
}

// What is so of each of several is said once. others: the names of those with whom nothing goes.
function commonTo(named) {
  const known = named.filter(([, departure]) => departure !== null);
  const [first, ...more] = known.filter(([, { meanwhile }]) => meanwhile.length > 0).map(([, { meanwhile }]) => meanwhile);
  const common = more.length === 0 ? [] : first.filter((text) => more.every((texts) => texts.includes(text)));
  return { common, others: known.filter(([, { meanwhile }]) => meanwhile.length === 0).map(([name]) => name) };
}

function brokerRow(broker, now, common) {
  const state = !broker.alive ? "dead" : broker.shutting_down ? "shutting down" : "alive";
  const age = broker.throttles_at === null || now - broker.throttles_at < OLD_MS ? "" : `read ${duration(now - broker.throttles_at)} ago`;
  const throttle = (one) => {
    if (!broker.throttles_known) return { text: UNKNOWN, tone: "quiet" };
    if (one === null) return { text: "none", quiet: age };
    const by = { lease: "by a lease of moves", default: "set for all brokers", config: "by a config" }[one.by] ?? "";
    return { text: rate(one.rate), quiet: [by, age].filter(Boolean).join(", ") };
  };
  return [
    { text: `${broker.id}`, quiet: broker.cordoned ? `${state}, cordoned` : state, tone: broker.alive ? "" : "wrong" },
    broker.rack ?? (broker.alive ? "none" : UNKNOWN),
    rate(broker.rate_in),
    rate(broker.rate_out),
    throttle(broker.throttle_in),
    throttle(broker.throttle_out),
    count(broker.replicas),
    count(broker.leaders),
    { text: count(broker.out_of_sync), quiet: broker.under_replicated ? `leads ${count(broker.under_replicated)} under-replicated` : "", tone: broker.out_of_sync ? "warn" : "" },
    diskCell(broker.disk),
    broker.departure === null ? "" : mayGoCell(broker.departure, common),
  ];
}

function mayGoCell(found, common) {
  const text = found.may_go === true ? "yes" : `${found.may_go === null ? "not known" : "no"}: ${found.why_not.join("; ")}`;
  return { text, quiet: found.meanwhile.filter((one) => !common.includes(one)).join("; "), tone: found.may_go === true ? "" : "warn", whole: true };
}

function diskCell(disk) {
  if (disk === null) return { text: UNKNOWN, tone: "quiet" };
  const failed = disk.failed.map((one) => `${one.path}: ${one.error}`).join("; ");
  const room = `${size(disk.replicas)}; free ${part(disk.free, disk.capacity) || UNKNOWN}`;
  return { text: room, quiet: failed && `failed: ${failed}`, quietTone: "wrong" };
}

async function showEvents() {
  if (isFolded("events")) return;
  const { isThere, body } = await ask("events", { ...entries(byId("events-filter")), limit: EVENTS, folded: "yes" });
  const missing = isThere ? body.missing : [];
  byId("events-missing").textContent = missing.map(({ server, why }) => `Events${server === null ? "" : ` of server ${server}`} are missing: ${why}.`).join(" ");
  fill(byId("events"), isThere ? body.events.map(eventRow) : [], isThere ? "No event." : body.error);
}

function eventRow(event) {
  const of = [];
  if (event.topic !== undefined) of.push(event.partition === undefined ? event.topic : `${event.topic}-${event.partition}`);
  if (event.brokers !== undefined) of.push(`brokers ${event.brokers.join(", ")}`);
  else if (event.broker !== undefined) of.push(`broker ${event.broker}`);
  const what = [];
  if (event.target) what.push(`to ${replicas(event.target)}`);
  if (event.copied !== undefined) what.push(`${size(event.copied)} copied`);
  if (event.bytes !== undefined) what.push(rate(event.bytes));
  if (event.count !== undefined) what.push(count(event.count));
  if (event.reason) what.push(event.reason);
  return [time(event.at), event.event, of.join(", "), event.who ?? "", what.join("; "), `${event.server ?? ""}`];
}

async function showPlots() {
  if (isFolded("plots")) return;
  const chosen = byId("span").value;
  const { isThere, body } = await ask("history", { span: chosen });
  if (!isThere) return;
  past = { ...body, lasts: SPANS_MS[chosen] };
  drawPlots();
}

// Plots end with what the tiles show.
function drawPlots() {
  if (past === null || isFolded("plots")) return;
  if (past.points.length === 0) {
    byId("plots").replaceChildren("Nothing is known yet.");
    return;
  }
  const points = [...past.points, ...pointOfNow()];
  const to = Math.max(past.at, points.at(-1).at);
  const span = { from: to - past.lasts, to, stepMs: past.step_ms };
  const draw = (title, value, format) => plot(title, points, value, format, span);
  byId("plots").replaceChildren(
    draw("In flight", (point) => point.in_flight, count),
    draw("Waiting", (point) => point.waiting, count),
    draw("Rate", (point) => point.rate, rate),
    draw("Left to copy", (point) => point.bytes_left, size),
    draw("Under-replicated", (point) => point.under_replicated, count),
    draw("Offline", (point) => point.offline, count),
  );
}

function pointOfNow() {
  if (shown.totals === undefined || shown.totals === null) return [];
  const { in_flight, waiting, rate, under_replicated, offline } = shown.totals;
  const sum = waiting === null ? null : Object.values(waiting).reduce((all, number) => all + number, 0);
  return [{ at: shown.at, in_flight, waiting: sum, rate, bytes_left: shown.work.bytes_left, under_replicated, offline }];
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
if (isPhone) for (const part of document.querySelectorAll(".part")) part.open = part.querySelector(`[id="${location.hash.slice(1)}"]`) !== null;
for (const link of document.querySelectorAll(".jumps a")) link.addEventListener("click", () => unfold(link.hash.slice(1)));
const hurries = [repeat(showPlots, PLOTS_MS)];
byId("span").addEventListener("change", () => {
  writeAddress(fields, page, true);
  hurries[0]();
});
if (isFull) {
  const moves = repeat(showMoves, TABLES_MS);
  const events = repeat(showEvents, TABLES_MS);
  const partitions = repeat(showPartitions, TABLES_MS);
  hurries.push(moves, events, partitions, repeat(showBrokers, TABLES_MS));
  const turn = (by) => () => {
    page = Math.max(1, page + by);
    writeAddress(fields, page, true);
    moves();
  };
  byId("moves-back").addEventListener("click", turn(-1));
  byId("moves-on").addEventListener("click", turn(1));
  for (const [form, show] of [[byId("moves-filter"), moves], [byId("partitions-filter"), partitions], [byId("events-filter"), events]]) {
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", (event) => {
      page = form.id === "moves-filter" ? 1 : page;
      writeAddress(fields, page, event.target.tagName === "SELECT");
      show();
    });
  }
}
setInterval(showAges, 1000);
for (const part of document.querySelectorAll(".part")) part.addEventListener("toggle", () => part.open && hurries.forEach((hurry) => hurry()));
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
