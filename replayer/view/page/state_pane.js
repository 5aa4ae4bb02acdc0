// @ts-check
// What was there at the cursor: the table that kubectl would have printed, and one object with what changed in it and who
// changed it.
import {pick, tableOf} from "./panes.js";
import {clockText, el, timeText, visible} from "./model.js";
import {diffLines, writerOf, yamlLines} from "./yaml.js";

/** @param {any} r */
function fullName(r) {
  return r.resource + (r.group ? "." + r.group : "");
}

/** @param {any} app @param {HTMLElement} pane */
export async function statePane(app, pane) {
  const c = app.cursorOrEnd(), known = app.resources.filter((/** @type {any} */ r) => r.events), first = known.find((/** @type {any} */ r) => r.resource === "pods") || known[0];
  if (!first) {
    pane.replaceChildren(el("p", {class: "dim"}, "nothing is on this tape yet"));
    return;
  }
  const selected = app.view.selected.split("/")[0], own = known.find((/** @type {any} */ r) => fullName(r) === selected);
  const resource = app.view.resource || fullName(own || first);
  const choose = el("select", {"aria-label": "resource", onchange: () => { app.view.resource = choose.value; app.save(); app.refreshPane(); }},
    ...known.map((/** @type {any} */ r) => el("option", {value: fullName(r), selected: fullName(r) === resource}, visible(fullName(r)))));
  const answer = await app.source.ask("state", {resource, time: c.ns, seq: c.seq, filter: app.view.filter});
  const columns = answer.columns.map((/** @type {any} */ col) => visible(col.name).toLowerCase());
  const namespaced = answer.rows.some((/** @type {any[]} */ r) => r[0]);
  const rows = answer.rows.map((/** @type {any[]} */ r) => {
    const key = resource + "/" + r[0] + "/" + r[1];
    return el("tr", {class: "pick" + (key === app.view.selected ? " at" : ""), tabindex: 0, onkeydown: pick, onclick: () => { app.select(key); app.showPane("object"); }},
      namespaced ? el("td", {class: "dim"}, visible(r[0])) : null, ...r.slice(4).map(v => el("td", {}, visible(v === null ? "" : v))));
  });
  pane.replaceChildren(
    el("div", {class: "tools"}, choose, el("h2", {}, "at " + timeText(c.ns)), el("span", {class: "dim", id: "row-count"}, answer.total + " objects" + (answer.total > answer.rows.length ? ", the first " + answer.rows.length : "")
      + (app.view.filter ? " that match the filter" : ""))),
    answer.certainty ? el("p", {class: "bad"}, visible(answer.certainty)) : "",
    tableOf([...(namespaced ? ["namespace"] : []), ...columns], rows));
}

/** @param {any} app @param {HTMLElement} pane */
export async function objectPane(app, pane) {
  const key = app.view.selected;
  if (!key || /^[ngw]\//.test(key)) {
    pane.replaceChildren(el("p", {class: "dim"}, "Select an object: a click on a lane, or the arrow keys and Enter."));
    return;
  }
  const c = app.cursorOrEnd(), answer = await app.source.ask("object", {key, at: c.ns, seq: c.seq});
  if (!answer.seq) {
    pane.replaceChildren(el("p", {class: "dim"}, visible(key) + " was not there yet at " + timeText(c.ns) + ". "), el("p", {}, el("kbd", {}, "]"), " goes to the next change of it"));
    return;
  }
  const other = await otherVersion(app, key, answer);
  const head = el("div", {class: "tools"}, el("h2", {}, visible(answer.kind) + " " + visible((answer.namespace ? answer.namespace + "/" : "") + answer.name)),
    el("span", {class: answer.type === "DELETED" ? "bad" : ""}, answer.type.toLowerCase() + " at " + clockText(BigInt(answer.time_ns), 6)), el("span", {class: "dim"}, "event " + answer.seq + ", version " + visible(answer.rv) + ", uid " + visible(answer.uid)),
    el("button", {type: "button", disabled: answer.before === "0", onclick: () => app.stepChange(-1)}, "[ previous"), el("button", {type: "button", disabled: answer.after === "0", onclick: () => app.stepChange(1)}, "next ]"),
    el("button", {type: "button", "aria-pressed": String(app.view.diff), onclick: () => app.toggleDiff()}, app.view.diff ? "whole object  d" : "what changed  d"));
  pane.replaceChildren(head, app.view.diff && other ? await diffOf(app, key, other, answer) : await wholeOf(app, key, answer));
  if (app.view.diff && !other)
    head.append(el("span", {class: "dim"}, "there is no version before this one"));
}

/** What to compare with: at the second cursor, else the version before.
 * @param {any} app @param {string} key @param {any} answer */
async function otherVersion(app, key, answer) {
  const mark = app.view.mark;
  if (!app.view.diff || (!mark && answer.before === "0"))
    return null;
  const other = await app.source.ask("object", mark ? {key, at: mark.ns, seq: mark.seq} : {key, seq: answer.before});
  return other.seq ? other : null;
}

/** @param {any} app @param {string} key @param {string} after @param {string} until */
async function changesOf(app, key, after, until) {
  const rows = (await app.source.ask("changes", {key, after, until})).changes.rows;
  return rows.map((/** @type {any[]} */ r) => ({path: r[3], manager: r[7] || ""}));
}

/** @param {any} app @param {string} key @param {any} old @param {any} now */
async function diffOf(app, key, old, now) {
  const [a, b] = BigInt(old.seq) <= BigInt(now.seq) ? [old, now] : [now, old];
  const changes = await changesOf(app, key, a.seq, b.seq), code = el("div", {class: "code"}), lines = diffLines(a.object, b.object);
  const near = lines.map((_, i) => lines.slice(Math.max(0, i - 1), i + 2).some(l => l.sign !== " "));
  code.append(el("div", {class: "row dim"}, "--- " + timeText(BigInt(a.time_ns), 6) + ", event " + a.seq + (a.uid !== b.uid ? ", uid " + visible(a.uid) : "")),
    el("div", {class: "row dim"}, "+++ " + timeText(BigInt(b.time_ns), 6) + ", event " + b.seq + (a.uid !== b.uid ? ", uid " + visible(b.uid) : "")));
  lines.forEach(({sign, line}, i) => {
    if (!near[i]) {
      if (i === 0 || near[i - 1])
        code.append(el("div", {class: "row dim"}, "   …"));
      return;
    }
    const who = sign === " " ? "" : writerOf(changes, line.path);
    code.append(el("div", {class: "row " + (sign === "+" ? "add" : sign === "-" ? "del" : "")}, el("span", {class: "sign"}, sign), el("span", {}, visible(line.text)), who ? el("span", {class: "who"}, "by " + visible(who)) : null));
  });
  if (!near.some(Boolean))
    code.append(el("div", {class: "row dim"}, "no difference but what every write changes"));
  return code;
}

/** @param {any} app @param {string} key @param {any} answer */
async function wholeOf(app, key, answer) {
  const lines = yamlLines(answer.object), code = el("div", {class: "code"}), changes = answer.before === "0" ? [] : await changesOf(app, key, answer.before, answer.seq);
  for (let i = 0; i < lines.length; i++) {
    const row = el("div", {class: "row"}, el("span", {}, visible(lines[i].text)));
    const who = changes.length && changes.some((/** @type {any} */ c) => c.path === lines[i].path) ? writerOf(changes, lines[i].path) : null;
    if (who !== null)
      row.classList.add("add");
    if (who)
      row.append(el("span", {class: "who"}, "by " + visible(who)));
    code.append(row);
    if (lines[i].fold) {
      const hidden = el("div", {hidden: true}, ...lines.slice(i + 1, i + 1 + lines[i].fold).map(l => el("div", {class: "row"}, visible(l.text))));
      row.append(el("button", {type: "button", class: "fold", onclick: () => { hidden.hidden = !hidden.hidden; }}, "  … " + lines[i].fold + " lines"));
      code.append(hidden);
      i += lines[i].fold;
    }
  }
  return code;
}
