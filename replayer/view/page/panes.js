// @ts-check
// Panes below the timeline: what stands out, who did what, SQL, gaps and watches.
import {AnswerError} from "./source.js";
import {clockText, durationText, el, noteOf, timeText, visible} from "./model.js";

/** @param {any} app @param {bigint} ns @param {string|null} seq @param {string} key */
function goTo(app, ns, seq, key) {
  if (key)
    app.select(key);
  app.setCursor({ns, seq}, true);
  app.show(ns);
}

/** A row of links: what, and when.
 * @param {any} app @param {any} item */
function findingLink(app, item) {
  return el("button", {type: "button", class: "link", onclick: () => goTo(app, BigInt(item.time_ns), item.seq, item.key)},
    el("span", {class: "what"}, el("b", {}, visible(item.name)), el("span", {class: "dim"}, "  " + visible(item.kind) + (item.namespace ? " in " + visible(item.namespace) : "")
      + (item.count > 1 ? ", " + item.count + " times" : "") + (item.words ? ": " + visible(item.words) : ""))),
    el("time", {}, clockText(BigInt(item.time_ns), 1)));
}

/** @param {string} note @param {string} title @param {string} words @param {number} total @param {any[]} rows */
function card(note, title, words, total, rows) {
  const look = note === "crash" ? {glyph: "✗", color: "--failed"} : noteOf(note), glyph = el("span", {class: "glyph", "aria-hidden": "true"}, look.glyph);
  glyph.style.color = "var(" + look.color + ")";
  return el("div", {class: "card", "data-note": note}, el("h3", {}, glyph, title, el("span", {class: "total"}, String(total))), el("p", {}, words), ...rows);
}

const CARDS = [
  ["spec", "Rollouts", "what happened after somebody changed a workload"],
  ["recreated", "Recreated under one name", "deleted and made again: the same name, another UID"],
  ["oom", "Out of memory", "containers that were killed"],
  ["crash", "Crashing or failed", "did not come up, or gave up"],
  ["restart", "Restarts", "containers that were started again"],
  ["warning", "Warnings", "what the cluster itself complained about"],
  ["missed", "Changed while nobody watched", "seen only when the watch was back"],
];

/** @param {any} app @param {HTMLElement} pane */
export async function findingsPane(app, pane) {
  const [found, gaps] = await Promise.all([app.source.ask("notable", {}), app.source.ask("gaps", {from: app.begin - 1n, to: app.end + 1n, width: 1000})]);
  const cards = el("div", {class: "cards"}), hid = gaps.gaps.filter((/** @type {any} */ g) => g.hid);
  for (const [note, title, words] of CARDS) {
    const kind = found.kinds.find((/** @type {any} */ k) => k.note === note);
    if (kind && kind.total)
      cards.append(card(note, title, words, kind.total, kind.items.map((/** @type {any} */ i) => findingLink(app, i))));
  }
  if (gaps.total) {
    cards.append(card("missed", "Not watched", "what the recorder did not see: hatched in the timeline", gaps.total, (hid.length ? hid : gaps.gaps).slice(0, 8).map((/** @type {any} */ g) =>
      el("button", {type: "button", class: "link", onclick: () => goTo(app, BigInt(g.begin), null, "")},
        el("span", {class: "what"}, visible(g.resource), el("span", {class: g.hid ? "bad" : "dim"}, "  for " + durationText(Number(BigInt(g.end) - BigInt(g.begin))) + hiddenWords(g))),
        el("time", {}, clockText(BigInt(g.begin), 1))))));
  } else {
    cards.append(card("", "Not watched", "every stream was watched from its first list to the end", 0, []));
  }
  const head = el("div", {class: "tools"}, el("h2", {}, "What stands out"));
  if (found.share < 1)
    head.append(el("span", {class: "dim"}, "reading the tape: " + Math.round(found.share * 100) + " %"));
  pane.replaceChildren(head, cards);
}

/** @param {any} g */
function hiddenWords(g) {
  const parts = ["recreated", "deleted", "added", "modified"].filter(k => g[k]).map(k => g[k] + " " + k);
  return parts.length ? ", hid " + parts.join(", ") : g.open ? ", never ended" : ", hid nothing that can be seen";
}

// ---- gaps and watches ----

/** @param {any} app @param {HTMLElement} pane */
export async function gapsPane(app, pane) {
  const answer = await app.source.ask("gaps", {from: app.begin - 1n, to: app.end + 1n, width: 1000});
  const watches = await app.source.ask("watches", {from: app.begin - 1n, to: app.end + 1n, width: 1000});
  const rows = answer.gaps.map((/** @type {any} */ g) => el("tr", {class: "pick", tabindex: 0, onclick: () => goTo(app, BigInt(g.begin), null, ""), onkeydown: pick},
    el("td", {}, visible(g.resource) + (g.group ? "." + visible(g.group) : "")), el("td", {}, visible(g.namespace) || "all"), el("td", {}, timeText(BigInt(g.begin))),
    el("td", {class: "number"}, g.open ? "never ended" : durationText(Number(BigInt(g.end) - BigInt(g.begin)))), el("td", {}, visible(g.words)), el("td", {}, visible(g.how_ended)),
    el("td", {class: g.hid ? "bad" : "dim"}, hiddenWords(g).slice(2))));
  const streams = watches.streams.map((/** @type {any} */ s) => {
    const own = watches.watches.filter((/** @type {any} */ w) => w.stream === s.stream), gaps = answer.gaps.filter((/** @type {any} */ g) => g.stream === s.stream);
    return {s, own, gaps};
  }).filter((/** @type {any} */ r) => r.own.length || r.gaps.length);
  pane.replaceChildren(
    el("div", {class: "tools"}, el("h2", {}, answer.total ? answer.total + " gaps" : "No gaps: every stream was watched from its first list to the end"),
      answer.total > answer.gaps.length ? el("span", {class: "dim"}, "the first " + answer.gaps.length + " are shown, those that hid something first") : null),
    rows.length ? tableOf(["resource", "namespace", "from", "for", "why", "ended by", "hid"], rows) : "",
    el("div", {class: "tools"}, el("h2", {}, "Streams")),
    tableOf(["resource", "namespace", "selectors", "connections", "gaps", "the last one ended"], streams.map((/** @type {any} */ r) => el("tr", {},
      el("td", {}, visible(r.s.resource) + (r.s.group ? "." + visible(r.s.group) : "")), el("td", {}, visible(r.s.namespace) || "all"), el("td", {}, visible([r.s.labels, r.s.fields].filter(Boolean).join(" "))),
      el("td", {class: "number"}, String(r.own.length)), el("td", {class: "number"}, String(r.gaps.length)), el("td", {}, visible(r.own.length ? r.own[r.own.length - 1].reason || "not yet" : ""))))));
}

/** Enter on a row is a click.
 * @param {KeyboardEvent} e */
export function pick(e) {
  if (e.key === "Enter" && e.currentTarget) {
    e.preventDefault();
    e.stopPropagation();
    /** @type {HTMLElement} */ (e.currentTarget).click();
  }
}

/** @param {string[]} heads @param {Node[]} rows */
export function tableOf(heads, rows) {
  return el("table", {}, el("thead", {}, el("tr", {}, ...heads.map(h => el("th", {}, h)))), el("tbody", {}, ...rows));
}

// ---- who did what ----

/** @param {any} app @param {HTMLElement} pane */
export async function writersPane(app, pane) {
  const answer = await app.source.ask("writers", {});
  const rows = answer.writers.slice(0, 40), most = Math.log1p(Math.max(1, ...rows.flatMap((/** @type {any} */ w) => w.counts)));
  const body = rows.map((/** @type {any} */ w) => {
    const canvas = el("canvas", {class: "heat", width: 1024, height: 16, title: "events of " + visible(w.name) + " in the time of the tape"});
    paintHeat(canvas, w.counts, most);
    canvas.addEventListener("click", (/** @type {MouseEvent} */ e) => {
      const bin = Math.floor(e.offsetX / canvas.clientWidth * w.counts.length), at = BigInt(answer.begin) + BigInt(answer.bin) * BigInt(bin);
      app.setWriter(w.name);
      app.setWindow(at - BigInt(answer.bin) * 4n, at + BigInt(answer.bin) * 5n);
    });
    return el("tr", {class: "pick" + (app.view.writer === w.name ? " at" : ""), tabindex: 0, "data-writer": w.name, onkeydown: pick, onclick: () => app.setWriter(app.view.writer === w.name ? "" : w.name)},
      el("td", {}, visible(w.name)), el("td", {class: "number"}, String(w.events)), el("td", {class: "number"}, String(w.fields)), el("td", {class: "number"}, String(w.objects)), el("td", {}, canvas));
  });
  const table = tableOf(["writer", "events", "fields", "objects", "when: " + clockText(app.begin, 0) + " to " + clockText(app.end, 0)], body);
  table.style.width = "100%";
  pane.replaceChildren(el("div", {class: "tools"}, el("h2", {}, "Who did what"), el("span", {class: "dim"}, answer.share < 1 ? "comparing versions: " + Math.round(answer.share * 100) + " %"
    : "a click shows only what that writer changed; on the map, also when")), table);
  if (answer.share < 1)
    app.later("writers", () => writersPane(app, pane));
}

/** @param {HTMLCanvasElement} canvas @param {number[]} counts @param {number} most */
export function paintHeat(canvas, counts, most) {
  const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")), width = canvas.width / counts.length;
  c.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
  counts.forEach((n, i) => {
    if (n) {
      c.globalAlpha = 0.2 + 0.8 * Math.log1p(n) / most;
      c.fillRect(i * width, 0, Math.max(1, width - 0.5), canvas.height);
    }
  });
}

// ---- SQL ----

const COOKBOOK = [
  ["who scaled what", "SELECT time, namespace, name, old, new, manager\nFROM changes WHERE path = '$.spec.replicas' ORDER BY seq"],
  ["who changed images", "SELECT time, resource, namespace, name, old, new, manager\nFROM changes WHERE resource = 'deployments' AND field LIKE '%].image' ORDER BY seq"],
  ["recreated", "SELECT resource, namespace, name, count(DISTINCT uid) AS lives, min(time) AS time\nFROM events WHERE resource <> 'events' GROUP BY apigroup, resource, namespace, name HAVING count(DISTINCT uid) > 1"],
  ["deletions", "SELECT time, resource, namespace, name, origin\nFROM events WHERE type = 'DELETED' AND resource <> 'events' ORDER BY seq"],
  ["warnings", "SELECT time, namespace, jget(object, '$.involvedObject.name') AS about, jget(object, '$.reason') AS reason, jget(object, '$.message') AS message\nFROM events WHERE resource = 'events' AND jget(object, '$.type') = 'Warning' ORDER BY seq"],
  ["busiest", "SELECT resource, namespace, name, count(*) AS events\nFROM events GROUP BY 1, 2, 3 ORDER BY 4 DESC LIMIT 30"],
  ["what gaps hid", "SELECT g.begin AS time, m.change, m.resource, m.namespace, m.name, m.old_uid, m.uid\nFROM missed AS m JOIN gaps AS g ON g.gap = m.gap"],
  ["fields that change most", "SELECT resource, field, count(*) AS times FROM changes WHERE type = 'MODIFIED'\nGROUP BY 1, 2 ORDER BY 3 DESC LIMIT 30"],
];

/** @param {any} app @param {HTMLElement} pane */
export async function sqlPane(app, pane) {
  const text = el("textarea", {class: "sql", "aria-label": "SQL statement", spellcheck: "false"}), out = el("div", {id: "rows"});
  text.value = app.view.query || COOKBOOK[0][1];
  const run = () => { app.view.query = text.value; app.save(); runStatement(app, text.value, out); };
  text.addEventListener("keydown", (/** @type {KeyboardEvent} */ e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); run(); }
    if (e.key === "Escape") text.blur();
  });
  pane.replaceChildren(
    el("div", {class: "tools"}, ...COOKBOOK.map(([name, sql]) => el("button", {type: "button", onclick: () => { text.value = sql; run(); }}, name))),
    text,
    el("div", {class: "tools"}, el("button", {type: "button", class: "first", id: "run-sql", onclick: run}, "Run  Ctrl+Enter"), el("button", {type: "button", onclick: () => app.source.ask("sql/cancel", {}, {method: "POST"})}, "Stop"),
      el("span", {class: "dim"}, "tables: events, objects, changes, gaps, missed, connections, streams, coverage, marks" + (app.hasRun ? ", requests, deliveries, writes, faults" : ""))),
    out);
  if (app.source.isFile)
    out.replaceChildren(el("p", {class: "dim"}, "A page with its data in it cannot run SQL: `kubetape view` or `kubetape query` can."));
  else if (app.view.query)
    runStatement(app, app.view.query, out);
}

/** @param {any} app @param {string} sql @param {HTMLElement} out */
async function runStatement(app, sql, out) {
  out.replaceChildren(el("p", {class: "dim"}, "running…"));
  try {
    const answer = await app.source.ask("sql", {}, {method: "POST", body: sql});
    out.replaceChildren(...resultOf(app, answer));
  } catch (e) {
    if (!(e instanceof AnswerError))
      throw e;
    out.replaceChildren(el("p", {class: "bad"}, visible(e.message)));
  }
}

/** The first column that holds times: as nanoseconds or as text.
 * @param {any} answer @returns {((row: any[]) => bigint|null)|null} */
function timeColumn(answer) {
  const at = answer.columns.findIndex((/** @type {string} */ c) => /^(time|begin|end|since|due|out|at)(_ns)?$/.test(c));
  if (at < 0)
    return null;
  return row => {
    const v = row[at], found = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/.exec(String(v));
    if (found)
      return BigInt(Date.parse(found[1] + "T" + found[2] + "Z")) * 1000000n + BigInt((found[3] || "0").padEnd(9, "0"));
    return /^\d{16,19}$/.test(String(v)) ? BigInt(v) : null;
  };
}

/** @param {any} app @param {any} answer @returns {Node[]} */
function resultOf(app, answer) {
  const time = timeColumn(answer), number = answer.columns.findLastIndex((/** @type {string} */ c, /** @type {number} */ i) => answer.rows.length && answer.rows.every((/** @type {any[]} */ r) => typeof r[i] === "number"));
  const tools = el("div", {class: "tools"}, el("span", {class: "dim", id: "row-count"}, answer.rows.length + " rows" + (answer.truncated ? " (there are more)" : "") + ", " + answer.ms + " ms"),
    el("button", {type: "button", onclick: () => save(answer)}, "CSV"));
  if (time)
    tools.append(el("button", {type: "button", onclick: () => app.lay(answer.rows.map((/** @type {any[]} */ r) => time(r)).filter((/** @type {any} */ t) => t !== null))}, "Mark on the timeline"));
  const rows = answer.rows.slice(0, 1000).map((/** @type {any[]} */ r) => {
    const ns = time ? time(r) : null;
    return el("tr", ns === null ? {} : {class: "pick", tabindex: 0, onkeydown: pick, onclick: () => goTo(app, ns, null, "")},
      ...r.map(v => el("td", {class: typeof v === "number" ? "number" : v === null ? "dim" : "", title: typeof v === "string" && v.length > 60 ? visible(v.slice(0, 2000)) : null}, v === null ? "null" : visible(typeof v === "string" && v.length > 300 ? v.slice(0, 300) + "…" : v))));
  });
  const parts = [tools, tableOf(answer.columns.map(visible), rows)];
  if (number > 0 && answer.rows.length > 1 && answer.rows.length <= 60)
    parts.push(chartOf(answer, number));
  return parts;
}

/** Bars for the last column of numbers.
 * @param {any} answer @param {number} at */
function chartOf(answer, at) {
  const most = Math.max(...answer.rows.map((/** @type {any[]} */ r) => r[at])), box = el("div", {class: "tools", "aria-hidden": "true"});
  const canvas = el("canvas", {width: 640, height: 70});
  const c = canvas.getContext("2d"), w = 640 / answer.rows.length;
  c.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
  answer.rows.forEach((/** @type {any[]} */ r, /** @type {number} */ i) => {
    const h = most > 0 ? Math.max(1, r[at] / most * 66) : 1;
    c.fillRect(i * w, 70 - h, Math.max(1, w - 2), h);
  });
  box.append(canvas);
  return box;
}

/** @param {any} answer */
function save(answer) {
  const cell = (/** @type {any} */ v) => /[",\n\r]/.test(String(v ?? "")) ? '"' + String(v).replaceAll('"', '""') + '"' : String(v ?? "");
  const text = [answer.columns, ...answer.rows].map(r => r.map(cell).join(",")).join("\r\n") + "\r\n";
  const link = el("a", {href: URL.createObjectURL(new Blob([text], {type: "text/csv"})), download: "kubetape.csv"});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
