// @ts-check
// Beside a running replay: its clock and its clients, and breaking a watch. And what happened in a run.
import {AnswerError} from "./source.js";
import {clockText, durationText, el, timeText, visible} from "./model.js";
import {pick, tableOf} from "./panes.js";
import {goldenPart} from "./golden_pane.js";

const HOWS = [["end", "ends cleanly", "end"], ["rst", "connection is reset", "rst"], ["error=410", "ERROR 410 in the watch", "error"], ["goaway", "GOAWAY", "goaway"], ["stall", "goes silent", "stall"]];

/** @param {any} app @param {string} action @param {Object<string, any>} [parameters] */
async function act(app, action, parameters = {}) {
  try {
    await app.source.ask("desk/" + action, parameters, {method: "POST"});
  } catch (e) {
    if (!(e instanceof AnswerError))
      throw e;
    app.tell(e);
  }
  app.refreshPane(["desk"]);
}

/** @param {any} app @param {HTMLElement} pane */
export async function deskPane(app, pane) {
  const desk = await app.source.ask("desk", {}), s = desk.status, button = (/** @type {string} */ text, /** @type {() => any} */ call, id = "") => el("button", {type: "button", onclick: call, id: id || null}, text);
  const first = Number(s.first_seq), share = Math.max(0, Math.min(1, (Number(s.seq) - first) / Math.max(1, Number(s.last_seq) - first)));
  const fill = el("i");
  fill.style.width = share * 100 + "%";
  app.timeline.beliefs = [{ns: BigInt(desk.now_ns), text: "replay " + s.state, row: 0}, ...desk.clients.filter((/** @type {any} */ c) => c.seen_seq !== "0").slice(0, 6).map((/** @type {any} */ c) => ({ns: BigInt(c.seen_ns), text: c.name.slice(0, 24) + " was told", row: 1}))];
  app.timeline.draw();
  const speed = el("input", {value: String(s.speed), size: 5, "aria-label": "speed", onchange: () => act(app, "speed", {value: speed.value})});
  const until = el("input", {placeholder: "type = 'DELETED' AND resource = 'pods'", size: 36, "aria-label": "pause after the first event for which this is true", onkeydown: (/** @type {KeyboardEvent} */ e) => { if (e.key === "Enter") act(app, "run", {when: until.value}); }});
  const clients = desk.clients.map((/** @type {any} */ c) => {
    const behind = c.seen_seq === "0" ? null : Number(BigInt(desk.now_ns) - BigInt(c.seen_ns));
    return el("tr", {class: "pick", tabindex: 0, onkeydown: pick, onclick: () => { if (behind !== null) { app.setCursor({ns: BigInt(c.seen_ns), seq: c.seen_seq}); app.show(BigInt(c.seen_ns)); } }},
      el("td", {title: visible(c.name)}, visible(c.name.slice(0, 48))), el("td", {}, behind === null ? "nothing yet" : "event " + c.seen_seq + " of " + clockText(BigInt(c.seen_ns))), el("td", {class: "number"}, behind === null ? "" : durationText(behind)),
      el("td", {class: "number"}, String(c.events)), el("td", {class: "number"}, String(c.watches)), el("td", {class: "number"}, String(c.lists)), el("td", {class: "number" + (c.relists ? " bad" : "")}, String(c.relists)), el("td", {class: "number" + (c.refused ? " bad" : "")}, String(c.refused)));
  });
  const event = s.event ? s.event.type + " " + s.event.resource + " " + (s.event.namespace ? s.event.namespace + "/" : "") + s.event.name : "no event yet", c = app.view.cursor;
  pane.replaceChildren(
    el("div", {class: "desk"}, el("b", {id: "desk-state"}, s.state), el("span", {class: "meter", title: Math.round(share * 100) + " % of the tape"}, fill), el("span", {}, timeText(BigInt(desk.now_ns), 1) + ", event " + s.seq + " of " + s.last_seq),
      s.state === "running" ? button("Pause", () => act(app, "pause"), "desk-pause") : button("Go on", () => act(app, "resume"), "desk-resume"), button("Step", () => act(app, "step")), button("Rewind", () => act(app, "rewind")),
      el("label", {class: "field"}, "speed", speed), button("To the cursor", () => c && act(app, "seek", {to: c.seq || timeText(c.ns, 9) + "Z"}), "desk-seek"), button("Run to the cursor", () => c && act(app, "run", {until: c.seq || timeText(c.ns, 9) + "Z"}))),
    el("div", {class: "desk"}, el("label", {class: "field"}, "pause after the event where", until), button("Run", () => act(app, "run", {when: until.value})), el("span", {class: "dim"}, "last: " + visible(event)),
      el("span", {class: "dim"}, desk.late.count ? "late: half below " + durationText(desk.late.half_ns) + ", at most " + durationText(desk.late.max_ns) : ""), s.notice ? el("span", {class: "bad"}, visible(s.notice)) : null),
    breakForm(app),
    clients.length ? tableOf(["client", "was told up to", "behind", "events", "watches", "lists", "listed again", "refused"], clients) : el("p", {class: "dim"}, "no client has come yet"));
  /* Not while somebody types into it. */
  const again = () => {
    if (app.view.pane === "desk" && !(document.activeElement && app.pane.contains(document.activeElement) && /^(INPUT|SELECT)$/.test(document.activeElement.tagName)))
      app.refreshPane(["desk"]);
    else if (app.view.pane === "desk")
      app.deskTimer = setTimeout(again, 700);
  };
  clearTimeout(app.deskTimer);
  app.deskTimer = setTimeout(again, 700);
}

/** Breaking the watch at the cursor: now, or as a fault for the next replay.
 * @param {any} app */
function breakForm(app) {
  const b = app.breaking = app.breaking || {how: "rst", length: "2ev", resource: app.view.selected.split("/")[0].split(".")[0].replace(/^[ngw]$/, "") || "pods", compact: true};
  const cursor = app.view.cursor, at = cursor ? cursor.seq ? "seq:" + cursor.seq : timeText(cursor.ns, 9).replace(" ", "T") + "Z" : "+10s";
  const change = (/** @type {string} */ name) => (/** @type {Event} */ e) => { const t = /** @type {any} */ (e.target); b[name] = t.type === "checkbox" ? t.checked : t.value; app.refreshPane(["desk"]); };
  const how = el("select", {"aria-label": "how the watch breaks", onchange: change("how")}, ...HOWS.map(([word, text]) => el("option", {value: word, selected: word === b.how}, text)));
  const length = el("input", {value: b.length, size: 5, "aria-label": "for how long: a duration, or a number of events", onchange: change("length")});
  const resource = el("input", {value: b.resource, size: 12, "aria-label": "resource, empty: all", onchange: change("resource")});
  const spec = [at, b.length, b.how, ...(b.compact ? ["compact"] : []), ...(b.resource ? [b.resource] : [])].join(","), file = app.faultText = faultFile(at, b);
  const command = "kubetape replay " + app.summary.picture.tape + " --gap '" + spec + "' -- COMMAND";
  return el("fieldset", {class: "desk breaking"}, el("legend", {}, "Break the watch " + (cursor ? "at the cursor, " + clockText(cursor.ns) : "(click on the timeline to say where)")),
    el("label", {class: "field"}, "it", how), el("label", {class: "field"}, "for", length), el("label", {class: "field"}, "resource", resource),
    el("label", {class: "field"}, el("input", {type: "checkbox", checked: b.compact, onchange: change("compact")}), "history is gone: 410"),
    el("button", {type: "button", class: "first", id: "break-now", onclick: () => act(app, "break", {how: b.compact || b.how.startsWith("error") ? "expired" : b.how === "rst" ? "rst" : "end", resource: b.resource})}, "Break now"),
    el("button", {type: "button", onclick: () => saveText("faults.json", file)}, "Save fault file"), el("code", {id: "break-command", class: "command", title: "click to copy", onclick: () => navigator.clipboard && navigator.clipboard.writeText(command)}, visible(command)));
}

/** @param {string} at @param {any} b */
export function faultFile(at, b) {
  const events = /^(\d+)ev$/.exec(b.length), [word, code] = b.how.split("=");
  return JSON.stringify({rules: [{name: "broken at " + at, when: {at}, ...(b.resource ? {where: {resource: b.resource}} : {}), what: code ? {do: word, code: Number(code)} : word,
    for: events ? {events: Number(events[1])} : b.length, ...(b.compact ? {compaction: true} : {})}]}, null, 2) + "\n";
}

/** @param {string} name @param {string} text */
function saveText(name, text) {
  const link = el("a", {href: URL.createObjectURL(new Blob([text], {type: "application/json"})), download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// ---- a run ----

const RUN_SUMS = "SELECT (SELECT count(*) FROM requests) AS requests, (SELECT count(*) FROM deliveries) AS deliveries, (SELECT max(lateness_ns) FROM deliveries) AS latest, (SELECT count(*) FROM writes) AS writes, (SELECT count(*) FROM faults) AS faults";
const RUN_ROWS = "SELECT tape_time_ns, verb, coalesce(namespace || '/', '') || coalesce(name, '') AS object, resource, status, client, 'write' AS what FROM writes UNION ALL "
  + "SELECT tape_time_ns, verb, path, resource, status, client, 'request' FROM requests UNION ALL SELECT tape_time_ns, step, detail, resource, NULL, NULL, 'fault' FROM faults ORDER BY 1 LIMIT 2000";

const RUN_LATE = "SELECT e.time_ns, d.seq, d.type, r.resource, coalesce(e.namespace || '/', '') || e.name, r.client, d.lateness_ns FROM (SELECT * FROM deliveries WHERE lateness_ns >= 1000000 ORDER BY lateness_ns DESC LIMIT 30) AS d "
  + "JOIN requests AS r ON r.request = d.request JOIN events AS e ON e.seq = d.seq ORDER BY d.lateness_ns DESC";

/** The deliveries that were late by most.
 * @param {any} app @returns {Promise<Node[]>} */
async function lateParts(app) {
  const late = (await app.source.ask("sql", {}, {method: "POST", body: RUN_LATE})).rows;
  return [el("div", {class: "tools"}, el("h2", {}, late.length ? "Delivered late" : "Nothing was delivered a millisecond late"),
    late.length ? el("button", {type: "button", id: "mark-late", onclick: () => app.lay(late.map((/** @type {any[]} */ r) => BigInt(r[0])))}, "Mark on the timeline") : null),
  late.length ? tableOf(["event", "type", "resource", "object", "client", "late by"], late.map((/** @type {any[]} */ r) => el("tr", {class: "pick", tabindex: 0, "data-late": String(r[1]), onkeydown: pick, onclick: () => { app.setCursor({ns: BigInt(r[0]), seq: String(r[1])}); app.show(BigInt(r[0])); }},
    el("td", {class: "number"}, String(r[1])), ...[r[2], r[3], r[4], r[5]].map(v => el("td", {}, visible(v || ""))), el("td", {class: "number bad"}, durationText(Number(r[6])))))) : ""];
}

/** @param {any} app @param {HTMLElement} pane */
export async function runPane(app, pane) {
  const begin = performance.now(), golden = app.hasGolden ? await goldenPart(app) : [], sums = await app.source.ask("sql", {}, {method: "POST", body: RUN_SUMS}), rows = await app.source.ask("sql", {}, {method: "POST", body: RUN_ROWS});
  const late = await lateParts(app), [requests, deliveries, latest, writes, faults] = sums.rows[0];
  const told = rows.rows.filter((/** @type {any[]} */ r) => r[6] !== "request" || !/^(get|list|watch)$/.test(r[1]) || Number(r[4]) >= 400);
  pane.replaceChildren(...golden,
    el("div", {class: "tools"}, el("h2", {}, "What the program did"), el("span", {class: "dim"}, requests + " requests, " + deliveries + " deliveries" + (latest === null ? "" : ", the latest " + durationText(Number(latest)) + " late") + ", " + writes + " writes, " + faults + " faults"),
      el("button", {type: "button", onclick: () => app.lay(told.filter((/** @type {any[]} */ r) => r[6] === "write" && r[0] !== null).map((/** @type {any[]} */ r) => BigInt(r[0])))}, "Mark the writes on the timeline")),
    tableOf(["tape's time", "what", "verb", "object", "resource", "status", "client"], told.map((/** @type {any[]} */ r) => el("tr", {class: "pick", tabindex: 0, onkeydown: pick, onclick: () => { if (r[0] !== null) { app.setCursor({ns: BigInt(r[0]), seq: null}); app.show(BigInt(r[0])); } }},
      el("td", {}, r[0] === null ? "" : clockText(BigInt(r[0]), 6)), el("td", {class: r[6] === "fault" ? "bad" : ""}, r[6]), el("td", {}, visible(r[1])), el("td", {}, visible(r[2])), el("td", {}, visible(r[3])), el("td", {class: Number(r[4]) >= 400 ? "bad" : ""}, visible(r[4])), el("td", {class: "dim"}, visible(r[5]))))), ...late);
  if (app.hasDesk)
    followRun(app, performance.now() - begin);
}

/** While the replay goes on there is more to tell; not while somebody reads with the keyboard.
 * @param {any} app @param {number} took so that a long run does not keep the replay busy */
function followRun(app, took) {
  clearTimeout(app.deskTimer);
  app.deskTimer = setTimeout(() => {
    if (app.view.pane !== "run")
      return;
    if (document.activeElement && document.activeElement !== app.pane && app.pane.contains(document.activeElement))
      followRun(app, took);
    else
      app.refreshPane(["run"]);
  }, Math.max(1000, 10 * took));
}

// ---- a sweep ----

/** Findings that differ in the same way, whatever the names of the objects are.
 * @param {any} g */
function causeOf(g) {
  return [g.pattern, g.kind, g.resource, ...g.differences.map((/** @type {string} */ d) => d.replace(/[\w.-]*\d[\w.-]*/g, "…"))].join("; ");
}

/** What a sweep found: by cause, each a link to its place on the timeline.
 * @param {any} app @param {HTMLElement} pane */
export async function sweepPane(app, pane) {
  const sweep = await app.source.ask("sweep", {}), bad = sweep.gaps.filter((/** @type {any} */ g) => g.verdict !== "fine" && g.verdict !== "not reached" && g.verdict !== "untried");
  /** @type {Map<string, any[]>} */
  const causes = new Map();
  for (const g of bad)
    causes.set(causeOf(g), [...(causes.get(causeOf(g)) || []), g]);
  const cards = [...causes.values()].sort((a, b) => b.length - a.length).map(list => el("div", {class: "card", "data-cause": ""},
    el("h3", {}, visible(list[0].pattern) + ", " + visible(list[0].kind) + " of " + visible(list[0].resource), el("span", {class: "total"}, String(list.length))),
    ...list[0].differences.slice(0, 4).map((/** @type {string} */ d) => el("p", {}, visible(d))),
    ...list.slice(0, 12).map(g => el("button", {type: "button", class: "link", title: g.repeat ? visible(g.repeat) : null, onclick: () => goToFinding(app, g)},
      el("span", {class: "what"}, el("b", {}, visible(g.object || g.resource)), el("span", {class: g.verdict === "wrong" ? "bad" : "dim"}, "  " + visible(g.verdict) + ", " + visible(g.gap))), el("time", {}, "event " + g.seq)))));
  pane.replaceChildren(el("div", {class: "tools"}, el("h2", {}, sweep.wrong + " of " + (sweep.wrong + sweep.fine + sweep.unsure) + " faults make it go wrong"),
    el("span", {class: "dim"}, sweep.positions + " places tried, " + sweep.not_reached + " not reached" + (sweep.unsure ? ", " + sweep.unsure + " wrong only once" : "")),
    el("button", {type: "button", onclick: () => markFindings(app, bad)}, "Mark them on the timeline")), el("div", {class: "cards"}, ...cards));
}

/** @param {any} app @param {any} g */
async function goToFinding(app, g) {
  await app.goToEvent(String(g.seq), true);
  if (g.repeat)
    app.pane.querySelectorAll("code.command").forEach((/** @type {Element} */ e) => e.remove());
  if (g.repeat)
    app.pane.append(el("code", {class: "command"}, visible(g.repeat)));
}

/** @param {any} app @param {any[]} list */
async function markFindings(app, list) {
  const seqs = [...new Set(list.map(g => String(g.seq)))].slice(0, 200), events = await Promise.all(seqs.map(seq => app.source.ask("event", {seq})));
  app.lay(events.map(e => BigInt(e.time_ns)));
}
