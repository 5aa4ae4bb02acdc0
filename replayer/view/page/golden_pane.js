// @ts-check
// A golden run beside the present one: what each was told, and what each wrote.
import {clockText, el, visible} from "./model.js";
import {paintHeat, pick, tableOf} from "./panes.js";

const WORDS = /** @type {Object<string, string>} */ ({"only golden": "only golden did", "only now": "golden did not", body: "another body", times: "another number of times"});

/** What clients asked and were told in a run, by client and resource.
 * @param {any} run @param {number} bins @returns {Map<string, any>} */
function toldOf(run, bins) {
  /** @type {Map<string, any>} */
  const found = new Map();
  const at = (/** @type {any} */ client, /** @type {any} */ resource) => {
    const key = client + "\n" + resource, own = found.get(key) || {client, resource, events: 0, lists: 0, watches: 0, refused: 0, counts: new Array(bins).fill(0)};
    found.set(key, own);
    return own;
  };
  for (const [client, resource, lists, watches, refused] of run.asked.rows)
    Object.assign(at(client, resource), {lists, watches, refused});
  for (const [client, resource, bin, events] of run.told.rows) {
    const own = at(client, resource);
    own.events += events;
    own.counts[Math.min(bins - 1, bin)] += events;
  }
  return found;
}

/** @param {any} answer @param {boolean} isOver as long as the replay goes on, to be told less is no difference */
function toldTable(answer, isOver) {
  const golden = toldOf(answer.golden, answer.bins), now = toldOf(answer.now, answer.bins), keys = [...new Set([...golden.keys(), ...now.keys()])].sort();
  const text = (/** @type {any} */ v) => v === undefined ? "-" : String(v);
  const both = (/** @type {any} */ a, /** @type {any} */ b) => [el("td", {class: "number"}, text(a)), el("td", {class: "number" + (a === b || !isOver ? "" : " bad")}, text(b))];
  const rows = keys.map(key => {
    const g = golden.get(key), n = now.get(key), known = g || n, most = Math.log1p(Math.max(1, ...(g ? g.counts : []), ...(n ? n.counts : [])));
    const strips = [g, n].map(side => {
      const canvas = el("canvas", {class: "heat", width: 384, height: 8});
      paintHeat(canvas, side ? side.counts : [], most);
      return canvas;
    });
    return el("tr", {"data-told": known.resource}, el("td", {title: visible(known.client)}, visible(known.client.slice(0, 40))), el("td", {}, visible(known.resource)), ...both(g && g.events, n && n.events), ...both(g && g.lists, n && n.lists),
      ...both(g && g.watches, n && n.watches), ...both(g && g.refused, n && n.refused), el("td", {class: "both", title: "events that it was told, by their number: golden above, now below"}, ...strips));
  });
  return tableOf(["client", "resource", "told: golden", "now", "lists: golden", "now", "watches: golden", "now", "refused: golden", "now", "which events: golden over now"], rows);
}

/** @param {any} row @param {bigint|null} clock where the replay stands; what golden wrote after that is still to come */
function differenceOf(row, clock) {
  if (row.difference === "only golden" && clock !== null && row.golden.time_ns && BigInt(row.golden.time_ns) > clock)
    return {words: "not yet", bad: false};
  const fields = (row.fields || []).map((/** @type {any[]} */ [field, a, b]) => field + ": " + (a === null ? "absent" : a) + " → " + (b === null ? "absent" : b));
  return {words: [WORDS[row.difference] || "", ...fields].filter(Boolean).join("; "), bad: row.difference !== ""};
}

/** @param {any} app @param {any} row @param {bigint|null} clock */
function writeRow(app, row, clock) {
  const difference = differenceOf(row, clock), time = (row.now && row.now.time_ns) || (row.golden && row.golden.time_ns);
  const side = (/** @type {any} */ s) => el("td", {class: s && s.status >= 400 ? "bad" : "", "data-side": s ? "1" : "0"},
    s ? (s.time_ns ? clockText(BigInt(s.time_ns), 6) : "at no time") + "  " + s.status + (s.times > 1 ? ", " + s.times + " times" : "") : "-");
  return el("tr", {class: "pick", tabindex: 0, "data-difference": row.difference, onkeydown: pick, onclick: () => { if (time) { app.setCursor({ns: BigInt(time), seq: null}); app.show(BigInt(time)); } }},
    el("td", {}, visible(row.verb)), el("td", {}, visible(row.resource + (row.subresource ? "/" + row.subresource : ""))), el("td", {}, visible((row.namespace ? row.namespace + "/" : "") + row.name)),
    side(row.golden), side(row.now), el("td", {class: difference.bad ? "bad" : "dim", title: visible(difference.words)}, visible(difference.words || "the same")));
}

/** @param {any[]} rows @param {string} side @returns {bigint[]} */
function timesOf(rows, side) {
  return rows.filter(r => r[side] && r[side].time_ns).map(r => BigInt(r[side].time_ns));
}

/** The part of a pane that shows both.
 * @param {any} app @returns {Promise<Node[]>} */
export async function goldenPart(app) {
  const answer = await app.source.ask("golden", {last: Math.max(1, Number(app.summary.picture.last_seq))}), w = answer.writes, desk = app.hasDesk ? await app.source.ask("desk", {}) : null;
  const clock = desk && !w.ended && desk.status.state !== "ended" ? BigInt(desk.now_ns) : null;
  const rows = w.rows.map((/** @type {any} */ r) => writeRow(app, r, clock)), differ = w.rows.filter((/** @type {any} */ r) => differenceOf(r, clock).bad).length;
  return [
    el("div", {class: "tools"}, el("h2", {id: "golden-verdict"}, differ ? (differ === 1 ? "1 write differs" : differ + " writes differ") + " from golden" : "No difference to golden" + (clock === null ? "" : " until now")),
      el("span", {class: "dim"}, "golden " + visible(w.golden_run) + ": " + w.golden + " writes; now: " + w.now + (w.ended || !desk ? "" : ", so far") + (w.more ? "; " + w.more + " that are the same are left off" : "")),
      el("button", {type: "button", onclick: () => app.lay(timesOf(w.rows, "now"), timesOf(w.rows, "golden"))}, "Mark on the timeline: ▽ golden  ▼ now")),
    rows.length ? tableOf(["verb", "resource", "object", "golden", "now", "difference"], rows) : el("p", {class: "dim"}, "neither has written anything"),
    el("div", {class: "tools"}, el("h2", {}, "What each was told")), toldTable(answer, clock === null)];
}
