// @ts-check
// What all of the page shares: the state that its address says, times, and what states and marks look like.

/** @typedef {{ns: bigint, seq: string|null}} Cursor */
/** @typedef {{from: bigint, to: bigint, cursor: Cursor|null, mark: Cursor|null, selected: string, filter: string, sort: string,
 *   writer: string, pane: string, toggled: Set<string>, resource: string, query: string, diff: boolean}} View */

export const STATES = [
  {name: "Gone", color: "--ground", pattern: ""},
  {name: "Present", color: "--present", pattern: ""},
  {name: "Ready", color: "--ready", pattern: ""},
  {name: "Succeeded", color: "--succeeded", pattern: ""},
  {name: "Running, not ready", color: "--running", pattern: "dots"},
  {name: "Pending", color: "--pending", pattern: "lines"},
  {name: "Terminating", color: "--terminating", pattern: "back"},
  {name: "Degraded", color: "--degraded", pattern: "dots"},
  {name: "CrashLoop", color: "--crash", pattern: "cross"},
  {name: "Failed", color: "--failed", pattern: "cross"},
];

/** In the order of how much they matter. */
export const NOTES = {
  added: {glyph: "", color: "--dim", words: "appeared"},
  deleted: {glyph: "", color: "--dim", words: "deleted"},
  inferred: {glyph: "×", color: "--hid", words: "gone when the watch came back: deleted in a gap"},
  spec: {glyph: "◆", color: "--spec", words: "its spec was changed"},
  restart: {glyph: "↻", color: "--warning", words: "a container was restarted"},
  warning: {glyph: "!", color: "--warning", words: "a Warning was reported"},
  missed: {glyph: "?", color: "--hid", words: "a gap hid a change of it"},
  recreated: {glyph: "⟲", color: "--accent", words: "made again under the same name, with another UID"},
  oom: {glyph: "✖", color: "--crash", words: "killed: out of memory"},
};

/** @param {string} name */
export function noteOf(name) {
  return NOTES[/** @type {keyof typeof NOTES} */ (name)] || {glyph: "", color: "--dim", words: name};
}

/** Text from a tape as it may be shown: what steers terminals, or turns the direction of reading, is spelled out.
 * @param {unknown} text */
export function visible(text) {
  return String(text ?? "").replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

// ---- times: nanoseconds since 1970 as bigint ----

/** @param {bigint} ns */
export function dateOf(ns) {
  const s = ns / 1000000000n - (ns < 0n ? 1n : 0n), rest = ns - s * 1000000000n;
  return {date: new Date(Number(s) * 1000), rest};
}

/** "2026-11-21 09:51:40.123456789"
 * @param {bigint} ns @param {number} [digits] */
export function timeText(ns, digits = 3) {
  const {date, rest} = dateOf(ns);
  if (Number.isNaN(date.getTime()))
    return String(ns);
  const text = date.toISOString().slice(0, 19).replace("T", " ");
  return digits ? text + "." + String(rest).padStart(9, "0").slice(0, digits) : text;
}

/** "09:51:40.123"
 * @param {bigint} ns @param {number} [digits] */
export function clockText(ns, digits = 3) {
  return timeText(ns, digits).slice(11);
}

/** "1m05s"
 * @param {number} ns */
export function durationText(ns) {
  const a = Math.abs(ns);
  if (a < 1e6) return Math.round(ns / 1e3) + "us";
  if (a < 1e9) return Math.round(ns / 1e6) + "ms";
  if (a < 60e9) return (ns / 1e9).toFixed(1) + "s";
  if (a < 3600e9) return Math.floor(ns / 60e9) + "m" + String(Math.floor(a / 1e9) % 60).padStart(2, "0") + "s";
  if (a < 86400e9) return Math.floor(ns / 3600e9) + "h" + String(Math.floor(a / 60e9) % 60).padStart(2, "0") + "m";
  return Math.floor(ns / 86400e9) + "d" + String(Math.floor(a / 3600e9) % 24).padStart(2, "0") + "h";
}

// ---- the address ----

/** @param {Cursor|null} c */
function cursorText(c) {
  return c ? c.ns + (c.seq ? "@" + c.seq : "") : "";
}

/** @param {string|null} text @returns {Cursor|null} */
function readCursor(text) {
  const found = /^(-?\d+)(?:@(\d+))?$/.exec(text || "");
  return found ? {ns: BigInt(found[1]), seq: found[2] || null} : null;
}

/** @param {View} view */
export function fragmentOf(view) {
  const p = new URLSearchParams();
  const put = (/** @type {string} */ name, /** @type {string} */ value) => { if (value) p.set(name, value); };
  put("from", String(view.from));
  put("to", String(view.to));
  put("at", cursorText(view.cursor));
  put("mark", cursorText(view.mark));
  put("select", view.selected);
  put("filter", view.filter);
  put("sort", view.sort === "busy" ? "" : view.sort);
  put("writer", view.writer);
  put("pane", view.pane);
  put("toggled", [...view.toggled].sort().join("\n"));
  put("resource", view.resource);
  put("sql", view.query);
  put("diff", view.diff ? "1" : "");
  return "#" + p.toString();
}

/** @param {string} fragment @param {bigint} begin @param {bigint} end @returns {View} */
export function viewOf(fragment, begin, end) {
  const p = new URLSearchParams(fragment.replace(/^#/, ""));
  const time = (/** @type {string} */ name, /** @type {bigint} */ otherwise) => /^-?\d+$/.test(p.get(name) || "") ? BigInt(p.get(name) || "") : otherwise;
  const margin = (end - begin) / 50n + 1000000n;
  const view = {
    from: time("from", begin - margin), to: time("to", end + margin),
    cursor: readCursor(p.get("at")), mark: readCursor(p.get("mark")),
    selected: p.get("select") || "", filter: p.get("filter") || "", sort: p.get("sort") || "busy", writer: p.get("writer") || "",
    pane: p.get("pane") || "findings", toggled: new Set((p.get("toggled") || "").split("\n").filter(Boolean)),
    resource: p.get("resource") || "", query: p.get("sql") || "", diff: p.get("diff") === "1",
  };
  if (view.to - view.from < 1000n)
    view.to = view.from + 1000n;
  return view;
}

// ---- elements ----

/** An element with attributes and children; texts are always texts.
 * @param {string} tag @param {Object<string, any>} [attributes] @param {...(Node|string|null|undefined)} children
 * @returns {any} */
export function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on"))
      e.addEventListener(name.slice(2), value);
    else if (name === "class")
      e.className = value;
    else if (value === true)
      e.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      e.setAttribute(name, String(value));
  }
  e.append(...children.filter(c => c !== null && c !== undefined).map(c => /** @type {any} */ (c)));
  return e;
}

/** @param {string} id @returns {any} */
export function byId(id) {
  return document.getElementById(id);
}
