// What the reader has chosen is in the address of the page: a link shows a colleague the same rows, and Back returns.
// `?moves.topic=pay&moves.page=3&events.broker=4&span=day`; what is as at first is left out.

const LONGEST = 249;

const keyOf = (field) => (field.form ? `${field.form.id.replace("-filter", "")}.${field.name}` : field.id);
const firstOf = (field) => (field.options ? field.options[0].value : "");

// Puts what the address says into the fields. Returns the page of moves, 1 or more.
export function readAddress(fields) {
  const query = new URLSearchParams(location.search);
  for (const field of fields) {
    const value = (query.get(keyOf(field)) ?? "").slice(0, LONGEST);
    field.value = value || firstOf(field);
    if (field.selectedIndex === -1) field.value = firstOf(field);
  }
  const page = query.get("moves.page") ?? "";
  return /^[1-9]\d{0,6}$/.test(page) ? Number(page) : 1;
}

// The opposite. A step is a place of its own to go back to; letters typed one after the other are none.
export function writeAddress(fields, page, isStep) {
  const query = new URLSearchParams();
  for (const field of fields) {
    const value = field.value.trim();
    if (value && value !== firstOf(field)) query.set(keyOf(field), value);
  }
  if (page > 1) query.set("moves.page", page);
  const address = query.size ? `?${query}` : location.pathname;
  if (isStep) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}
