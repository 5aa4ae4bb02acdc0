// @ts-check
// The page: puts the parts together, keeps its state in the address, and knows the keys.
import {NOTES, STATES, byId, clockText, el, fragmentOf, timeText, viewOf, visible} from "./model.js";
import {ServerSource} from "./source.js";
import {FileSource, fileData} from "./file_source.js";
import {Timeline} from "./timeline.js";
import {findingsPane, gapsPane, sqlPane, writersPane} from "./panes.js";
import {objectPane, statePane} from "./state_pane.js";
import {deskPane, runPane, sweepPane} from "./desk_pane.js";

/** @typedef {import("./model.js").Cursor} Cursor */

const PANES = [
  {id: "findings", name: "What stands out", key: "1", fill: findingsPane},
  {id: "state", name: "State", key: "2", fill: statePane},
  {id: "object", name: "Object", key: "3", fill: objectPane},
  {id: "writers", name: "Who did what", key: "4", fill: writersPane},
  {id: "sql", name: "SQL", key: "5", fill: sqlPane},
  {id: "gaps", name: "Gaps and watches", key: "6", fill: gapsPane},
  {id: "desk", name: "Replay desk", key: "7", fill: deskPane},
  {id: "run", name: "Run", key: "8", fill: runPane},
  {id: "sweep", name: "Sweep", key: "9", fill: sweepPane},
];

const KEYS = [
  ["← →", "pan"], ["+ −", "closer, farther"], ["↑ ↓", "select a lane"], ["Enter", "open or close it; its object"], ["[ ]", "previous, next change of it"], [", .", "previous, next event"],
  ["m", "second cursor here: panes compare"], ["d", "what changed, or the whole object"], ["/", "filter lanes"], ["g", "go to a time or position"], ["Space", "play"], ["f", "show all of the tape"],
  ["z", "close in on the cursor"], ["b", "break the watch at the cursor"], ["1 … 9", "panes"], ["Tab", "into the pane and back"], ["Esc", "back to the timeline"], ["?", "these keys"],
];

class App {
  /** @param {any} source */
  constructor(source) {
    this.source = source;
    this.begin = 0n;
    this.end = 1n;
    /** @type {any[]} */
    this.resources = [];
    /** @type {any[]} */
    this.allGaps = [];
    this.hasDesk = this.hasRun = this.hasGolden = this.hasSweep = false;
    this.live = false;
    this.paneNumber = 0;
    this.errors = /** @type {string[]} */ ([]);
    this.view = viewOf("", 0n, 1n);
    this.pane = byId("pane");
    this.timeline = /** @type {Timeline} */ (/** @type {any} */ (null)); // from start() on
    /** What the form for breaking a watch holds.
     * @type {any} */
    this.breaking = undefined;
    this.faultText = "";
    this.deskTimer = 0;
    /** @type {any} */
    this.summary = null;
    this.share = 0;
  }

  async start() {
    await this.readSummary();
    this.view = viewOf(location.hash, this.begin, this.end);
    this.timeline = new Timeline(byId("stage"), byId("canvas"), byId("tip"), this);
    this.makeTabs();
    this.listen();
    await this.readWhole();
    this.apply();
    byId("stage").focus({preventScroll: true});
    this.watch();
    document.documentElement.dataset.ready = "1";
  }

  async readSummary() {
    const s = await this.source.ask("summary", {}), p = s.picture;
    this.summary = s;
    this.begin = BigInt(p.begin);
    this.end = BigInt(p.end) > this.begin ? BigInt(p.end) : this.begin + 1000000000n;
    this.resources = p.resources;
    this.hasDesk = s.desk;
    this.hasRun = s.run;
    this.hasGolden = s.golden;
    this.hasSweep = s.sweep;
    this.live = p.live;
    this.share = p.share;
    const name = p.tape.replace(/\/+$/, "").split("/").pop();
    document.title = visible(name) + " - kubetape";
    byId("tape").textContent = visible(name) + (p.live ? " (being recorded)" : "");
    byId("tape").title = visible(p.tape);
    this.readingText();
  }

  readingText() {
    const p = this.summary.picture;
    byId("reading").textContent = p.full ? "more events than a picture takes: the rest is not shown" : p.share < 1 ? "reading " + Math.round(p.share * 100) + " %" : Number(p.events).toLocaleString("en") + " events, " + p.gaps + " gaps";
  }

  async readWhole() {
    const [density, gaps] = await Promise.all([this.source.ask("density", {}), this.source.ask("gaps", {from: this.begin - 1n, to: this.end + 1n, width: 1000})]);
    if (this.timeline)
      this.timeline.density = density;
    this.allGaps = gaps.gaps;
    this.makeTabs();
  }

  /** While the tape is being read, or recorded, there is more to see every moment. */
  watch() {
    if (this.source.isFile)
      return;
    const reading = this.share < 1;
    setTimeout(async () => {
      try {
        const before = this.end, atEnd = this.view.to >= this.end;
        if (reading || this.live) {
          const events = this.summary.picture.events;
          await this.readSummary();
          if (reading || events !== this.summary.picture.events || before !== this.end) {
            await this.readWhole();
            if (this.live && atEnd && this.end > before && !this.view.cursor) {
              this.view.from += this.end - before;
              this.view.to += this.end - before;
            }
            this.timeline.refresh(true);
            if (reading)
              this.refreshPane(["findings", "state"]);
          }
        }
        this.watch();
      } catch (e) {
        this.tell(e);
        setTimeout(() => this.watch(), 3000);
      }
    }, reading ? 400 : 1000);
  }

  // ---- state ----

  save() {
    clearTimeout(this.saveTimer);
    this.saveTimer = setTimeout(() => history.replaceState(null, "", fragmentOf(this.view)), 120);
  }

  /** Shows what `view` says. */
  apply() {
    byId("filter").value = this.view.filter;
    byId("sort").value = this.view.sort;
    this.showChip();
    this.showClock();
    this.selectTab();
    this.timeline.refresh();
    this.refreshPane();
  }

  showChip() {
    const chip = byId("chip");
    chip.hidden = !this.view.writer;
    chip.replaceChildren("changed by " + visible(this.view.writer), el("button", {type: "button", "aria-label": "all writers", onclick: () => this.setWriter("")}, "×"));
  }

  showClock() {
    if (document.activeElement !== byId("at"))
      byId("at").value = this.view.cursor ? timeText(this.view.cursor.ns, 6) : "";
  }

  /** @param {bigint} from @param {bigint} to */
  setWindow(from, to) {
    const least = 1000n, most = (this.end - this.begin) * 8n + 60000000000n;
    if (to - from < least) to = from + least;
    if (to - from > most) {
      const middle = (from + to) / 2n;
      from = middle - most / 2n;
      to = middle + most / 2n;
    }
    this.view.from = from;
    this.view.to = to;
    this.save();
    this.timeline.refresh();
  }

  /** Brings a time into the window.
   * @param {bigint} ns */
  show(ns) {
    const {from, to} = this.view, half = (to - from) / 2n;
    if (ns < from + half / 10n || ns > to - half / 10n)
      this.setWindow(ns - half, ns + half);
    else
      this.timeline.refresh();
  }

  /** @param {Cursor|null} cursor @param {boolean} [exact] the event's own time is looked up */
  async setCursor(cursor, exact = false) {
    this.view.cursor = cursor;
    if (cursor && cursor.seq && exact) {
      try {
        const event = await this.source.ask("event", {seq: cursor.seq});
        if (this.view.cursor !== cursor)
          return;
        cursor.ns = BigInt(event.time_ns);
      } catch (e) {
        this.tell(e);
      }
    }
    this.save();
    this.showClock();
    this.timeline.draw();
    this.refreshPane(["state", "object", "desk"]);
  }

  /** @returns {Cursor} */
  cursorOrEnd() {
    return this.view.cursor || {ns: this.end, seq: null};
  }

  /** @param {string} key */
  select(key) {
    this.view.selected = key;
    this.save();
    this.timeline.draw();
    this.refreshPane(["state", "object"]);
  }

  /** @param {string} key */
  toggle(key) {
    if (!this.view.toggled.delete(key))
      this.view.toggled.add(key);
    this.save();
    this.timeline.refresh();
  }

  /** @param {string} name */
  setWriter(name) {
    this.view.writer = name;
    this.save();
    this.showChip();
    this.timeline.scroll = 0;
    this.timeline.refresh();
    this.refreshPane(["writers"]);
  }

  toggleDiff() {
    this.view.diff = !this.view.diff;
    this.save();
    if (this.view.pane !== "object")
      this.showPane("object");
    else
      this.refreshPane();
  }

  /** Marks on the timeline; hollow ones are those of a golden run.
   * @param {bigint[]} times @param {bigint[]} [golden] */
  lay(times, golden = []) {
    this.timeline.laid = [...golden.map(ns => ({ns, hollow: true})), ...times.map(ns => ({ns, hollow: false}))];
    this.timeline.draw();
  }

  /** Whether a resource has lanes: Events are marks on others.
   * @param {number} id */
  isShown(id) {
    const r = this.resources.find(r => r.id === id);
    return !!r;
  }

  /** @param {any} lanes */
  onLanes(lanes) {
    document.documentElement.dataset.lanes = String(lanes.total);
  }

  // ---- steps ----

  /** @param {number} by */
  async stepChange(by) {
    const key = this.view.selected;
    if (!key || /^[ngw]\//.test(key)) {
      await this.stepEvent(by);
      return;
    }
    const c = this.cursorOrEnd(), near = await this.source.ask("object", {key, at: c.ns, seq: c.seq, brief: 1});
    /* Between two changes, the previous one is the one that the cursor stands after. */
    const inside = by < 0 && near.seq && !c.seq && BigInt(near.time_ns) < c.ns;
    const seq = by > 0 ? near.after : inside ? near.seq : near.before;
    if (seq && seq !== "0")
      await this.goToEvent(seq, false);
  }

  /** @param {number} by */
  async stepEvent(by) {
    const c = this.cursorOrEnd(), seq = c.seq || (await this.source.ask("position", {at_ns: c.ns})).seq;
    const next = BigInt(seq) + BigInt(by), p = this.summary.picture;
    if (next >= BigInt(p.first_seq) && next <= BigInt(p.last_seq))
      await this.goToEvent(String(next), true);
  }

  /** @param {string} seq @param {boolean} selects */
  async goToEvent(seq, selects) {
    const event = await this.source.ask("event", {seq});
    if (selects)
      this.view.selected = event.key;
    await this.setCursor({ns: BigInt(event.time_ns), seq});
    this.show(BigInt(event.time_ns));
    const at = this.timeline.numberOf(this.view.selected);
    if (at >= 0)
      this.timeline.reveal(at);
  }

  /** @param {number} by */
  moveSelection(by) {
    const t = this.timeline, at = t.numberOf(this.view.selected), n = this.view.selected === "w/" ? t.model.total : at;
    const next = n < 0 ? Math.floor(t.scroll) : Math.max(0, Math.min(t.model.total, n + by)), lane = t.lane(next);
    if (next === t.model.total)
      this.select("w/");
    else if (lane)
      this.select(lane.key);
    t.reveal(next);
  }

  openSelection() {
    const t = this.timeline, lane = t.lane(t.numberOf(this.view.selected));
    if (this.view.selected === "w/")
      this.toggle("w/");
    else if (lane && lane.below)
      this.toggle(lane.key);
    if (lane && lane.type === "object")
      this.showPane("object");
  }

  play() {
    if (this.playing) {
      clearInterval(this.playing);
      this.playing = 0;
      return;
    }
    const begin = performance.now(), from = this.view.cursor && this.view.cursor.ns < this.view.to && this.view.cursor.ns >= this.view.from ? this.view.cursor.ns : this.view.from;
    const speed = Number(this.view.to - this.view.from) / 20e3;
    let told = 0;
    this.playing = setInterval(() => {
      const ns = from + BigInt(Math.round((performance.now() - begin) * speed));
      this.view.cursor = {ns: ns > this.end ? this.end : ns, seq: null};
      this.showClock();
      if (ns > this.view.to)
        this.setWindow(this.view.from + (this.view.to - this.view.from) / 2n, this.view.to + (this.view.to - this.view.from) / 2n);
      this.timeline.draw();
      if (performance.now() - told > 250) {
        told = performance.now();
        this.refreshPane(["state", "object"]);
      }
      if (ns >= this.end)
        this.play();
    }, 33);
  }

  // ---- panes ----

  /** Some panes need more than a tape.
   * @param {string} pane */
  has(pane) {
    return pane === "desk" ? this.hasDesk : pane === "run" ? this.hasRun : pane === "sweep" ? this.hasSweep : true;
  }

  makeTabs() {
    const counts = /** @type {Object<string, any>} */ ({gaps: this.allGaps.length ? el("span", {class: "count" + (this.allGaps.some(g => g.hid) ? " bad" : "")}, String(this.allGaps.length)) : null});
    byId("tabs").replaceChildren(...PANES.filter(p => this.has(p.id)).map(p =>
      el("button", {type: "button", role: "tab", id: "tab-" + p.id, title: p.name + " (" + p.key + ")", "aria-controls": "pane", onclick: () => this.showPane(p.id)}, p.id === "run" && this.hasGolden ? "Golden beside now" : p.name, counts[p.id])));
    this.selectTab();
  }

  selectTab() {
    for (const b of byId("tabs").children)
      b.setAttribute("aria-selected", String(b.id === "tab-" + this.view.pane));
  }

  /** @param {string} id */
  showPane(id) {
    this.view.pane = id;
    this.save();
    this.selectTab();
    this.pane.replaceChildren();
    this.pane.scrollTop = 0;
    this.refreshPane();
  }

  /** Fills the pane that is shown, if it is one of these.
   * @param {string[]} [only] */
  async refreshPane(only) {
    const p = PANES.find(p => p.id === this.view.pane) || PANES[0], number = ++this.paneNumber;
    if (only && !only.includes(p.id))
      return;
    try {
      /* An answer that comes late must not replace a newer pane. */
      const fresh = /** @type {any} */ ({replaceChildren: (/** @type {any[]} */ ...children) => { if (number === this.paneNumber) { this.pane.replaceChildren(...children); this.pane.dataset.pane = p.id; } }});
      await p.fill(this, fresh);
    } catch (e) {
      if (number === this.paneNumber)
        this.tell(e);
    }
  }

  /** Calls again in a moment, if that pane is still shown.
   * @param {string} id @param {() => void} call */
  later(id, call) {
    setTimeout(() => { if (this.view.pane === id) this.refreshPane(); else void call; }, 400);
  }

  /** @param {any} e */
  tell(e) {
    const text = e && e.message ? e.message : String(e), notice = byId("notice");
    this.errors.push(text);
    notice.textContent = visible(text);
    notice.hidden = false;
    clearTimeout(this.noticeTimer);
    this.noticeTimer = setTimeout(() => { notice.hidden = true; }, 6000);
  }

  // ---- keys ----

  listen() {
    addEventListener("keydown", e => this.onKey(e));
    addEventListener("hashchange", () => {
      this.view = viewOf(location.hash, this.begin, this.end);
      this.apply();
    });
    byId("filter").addEventListener("input", () => { this.view.filter = byId("filter").value; this.timeline.scroll = 0; this.save(); this.timeline.refresh(); this.refreshPane(["state"]); });
    byId("sort").addEventListener("change", () => { this.view.sort = byId("sort").value; this.save(); this.timeline.refresh(); });
    byId("at").addEventListener("change", () => this.goToPosition(byId("at").value));
    byId("help-button").addEventListener("click", () => this.help());
  }

  /** @param {string} text */
  async goToPosition(text) {
    if (!text.trim())
      return;
    try {
      const p = await this.source.ask("position", {at: text.trim()});
      await this.setCursor({ns: BigInt(p.time_ns), seq: null});
      this.show(BigInt(p.time_ns));
      if (p.remark)
        this.tell(new Error(p.remark));
      byId("stage").focus();
    } catch (e) {
      this.tell(e);
    }
  }

  /** @param {KeyboardEvent} e */
  onKey(e) {
    const target = /** @type {HTMLElement} */ (e.target), typing = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
    if (e.key === "Escape") {
      if (!byId("help").open) {
        byId("stage").focus();
        this.timeline.hideTip();
      }
      return;
    }
    if (typing || e.ctrlKey || e.metaKey || e.altKey || byId("help").open)
      return;
    if (target.tagName === "BUTTON" && (e.key === "Enter" || e.key === " "))
      return;
    const call = this.keyCall(e.key, target.id === "pane" || this.pane.contains(target));
    if (!call)
      return;
    e.preventDefault();
    Promise.resolve(call()).catch(error => this.tell(error));
  }

  /** @param {string} key @param {boolean} inPane the arrows scroll it @returns {(() => any)|null} */
  keyCall(key, inPane) {
    const t = this.timeline, about = this.view.cursor && this.view.cursor.ns >= this.view.from && this.view.cursor.ns <= this.view.to ? this.view.cursor.ns : (this.view.from + this.view.to) / 2n;
    /** @type {Object<string, () => any>} */
    const calls = {
      "+": () => t.zoom(0.6, about), "=": () => t.zoom(0.6, about), "-": () => t.zoom(1 / 0.6, about), "[": () => this.stepChange(-1), "]": () => this.stepChange(1), ",": () => this.stepEvent(-1), ".": () => this.stepEvent(1),
      "m": () => this.setMark(), "d": () => this.toggleDiff(), "/": () => byId("filter").focus(), "g": () => { byId("at").focus(); byId("at").select(); }, " ": () => this.play(),
      "f": () => { const v = viewOf("", this.begin, this.end); this.setWindow(v.from, v.to); }, "z": () => t.zoom(0.1, about), "b": () => this.breakHere(), "?": () => this.help(),
    };
    if (!inPane)
      Object.assign(calls, {"ArrowLeft": () => t.panBy(-0.12), "ArrowRight": () => t.panBy(0.12), "ArrowUp": () => this.moveSelection(-1), "ArrowDown": () => this.moveSelection(1), "Enter": () => this.openSelection(),
        "PageDown": () => t.scrollBy(t.rows - 2), "PageUp": () => t.scrollBy(2 - t.rows), "Home": () => t.scrollBy(-1e9), "End": () => t.scrollBy(1e9)});
    const p = PANES.find(p => p.key === key);
    if (p && this.has(p.id))
      return () => this.showPane(p.id);
    return calls[key] || null;
  }

  setMark() {
    this.view.mark = this.view.mark || !this.view.cursor ? null : {...this.view.cursor};
    this.save();
    this.timeline.draw();
    this.refreshPane(["object"]);
  }

  /** The fault that makes a replay break there. */
  breakHere() {
    this.breakAsked = true;
    if (this.hasDesk)
      this.showPane("desk");
    else
      this.tell(new Error("a watch is broken in a replay: `kubetape replay TAPE --view` has the desk for it"));
  }

  help() {
    const dialog = byId("help"), legend = el("div", {class: "legend"});
    for (let i = 1; i < STATES.length; i++) {
      const swatch = el("canvas", {width: 34, height: 14}), c = swatch.getContext("2d");
      c.fillStyle = this.timeline.colors[STATES[i].color];
      c.fillRect(0, 0, 34, 14);
      if (STATES[i].pattern) {
        c.fillStyle = this.timeline.pattern(STATES[i].pattern);
        c.fillRect(0, 0, 34, 14);
      }
      legend.append(el("span", {}, swatch, " " + STATES[i].name));
    }
    for (const look of Object.values(NOTES)) {
      if (look.glyph) {
        const glyph = el("span", {class: "glyph"}, look.glyph);
        glyph.style.color = "var(" + look.color + ")";
        legend.append(el("span", {}, glyph, " " + look.words));
      }
    }
    dialog.replaceChildren(el("h2", {}, "Keys"), el("div", {class: "keys"}, ...KEYS.flatMap(([key, words]) => [el("kbd", {}, key), el("span", {}, words)])),
      el("p", {class: "dim"}, "Wheel or pinch: closer. Drag: pan. Shift and drag: a range. Click: cursor and selection. The address of this page says all that you see: share it."),
      el("h2", {}, "Signs"), legend, el("p", {class: "dim"}, "Hatched columns: nobody watched; red where that hid a change."));
    dialog.showModal();
  }
}

const data = await fileData();
const app = new App(data ? new FileSource(data) : new ServerSource());
/** @type {any} */ (window).kubetape = app;
addEventListener("unhandledrejection", e => app.tell(e.reason));
app.start().catch(e => app.tell(e));
