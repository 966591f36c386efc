// Numbers and times as people read them, and elements that show them. null is what the server does not know.

export const UNKNOWN = "unknown";

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

export function size(bytes) {
  if (bytes === null) return UNKNOWN;
  let unit = 0;
  while (bytes >= 999.95 && unit < UNITS.length - 1) {
    bytes /= 1000;
    unit += 1;
  }
  return unit === 0 ? `${Math.round(bytes)} B` : `${bytes.toFixed(1)} ${UNITS[unit]}`;
}

// How much of what; empty where neither is known.
export const part = (bytes, whole) => (bytes === null && whole === null ? "" : `${size(bytes)} of ${whole === null ? "an unknown size" : size(whole)}`);

export const rate = (bytes) => (bytes === null ? UNKNOWN : `${size(bytes)}/s`);

export const count = (value) => (value === null ? UNKNOWN : value.toLocaleString("en"));

// The two largest units; a clock that has jumped back gives 0 s, never a negative time.
export function duration(ms) {
  if (ms === null) return UNKNOWN;
  const left = Math.max(0, Math.round(ms / 1000));
  if (left < 60) return `${left} s`;
  if (left < 3600) return `${Math.floor(left / 60)} min ${left % 60} s`;
  if (left < 86400) return `${Math.floor(left / 3600)} h ${Math.floor((left % 3600) / 60)} min`;
  return `${Math.floor(left / 86400)} d ${Math.floor((left % 86400) / 3600)} h`;
}

// UTC, as the event log and the command have it.
export function time(ms) {
  const at = new Date(ms);
  return ms === null || Number.isNaN(at.getTime()) ? UNKNOWN : at.toISOString().slice(0, 19).replace("T", " ");
}

export const plural = (number, word) => `${count(number)} ${word}${number === 1 ? "" : "s"}`;

// What others have written, with escapes for characters that show nothing, or turn the text around.
export const visible = (text) => text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (one) => `\\u{${one.codePointAt(0).toString(16)}}`);

// An element with these properties and parts.
export function make(kind, properties, ...parts) {
  const made = Object.assign(document.createElement(kind), properties);
  made.append(...parts);
  return made;
}

export const isPhone = matchMedia("(max-width: 720px)").matches;

const [LONG, START, END] = isPhone ? [60, 30, 24] : [150, 90, 40];

// The start and the end of a long text: names often differ in their ends alone. null: the text is not long.
export function shortened(text) {
  if (text.length <= LONG) return null;
  const letters = [...text];
  return `${wholeWords(letters.slice(0, START), 1)} … ${wholeWords(letters.slice(-END), -1)}`;
}

const SPACE = /\s/u;

// Without the word that the cut has halved, unless so little would be left: a name without spaces.
// `towards`: 1 where the text was cut at its end, -1 where it was cut at its start.
function wholeWords(letters, towards) {
  const whole = towards === 1 ? letters.findLastIndex((one) => SPACE.test(one)) : letters.findIndex((one) => SPACE.test(one));
  const kept = towards === 1 ? letters.slice(0, Math.max(0, whole)) : letters.slice(whole + 1);
  return (whole === -1 || kept.length < letters.length / 2 ? letters : kept).join("");
}
