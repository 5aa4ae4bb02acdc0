// @ts-check
// The timeline: a strip of how much there was when, a ruler, and lanes, on one canvas. It draws what the last answer said,
// moved to where the window is now, and asks for more when that is not enough.
import {NOTES, STATES, clockText, durationText, el, noteOf, timeText, visible} from "./model.js";

const LANE = 22, STRIP = 46, RULER = 20, TOP = STRIP + RULER, INDENT = 13;
const RANKS = Object.keys(NOTES);
const BEYOND = 0.5; // of the window's width, asked for on each side

/** @typedef {{type: string, depth: number, below: number, open: boolean, id: number, key: string, label: string, kind: string, resource: string, group: string,
 *   namespace: string, bars: number[][], marks: any[][], ticks: number[], lives: any[][], steps: number[][], begin: number, events: number}} Lane */

export class Timeline {
  /** @param {HTMLElement} stage @param {HTMLCanvasElement} canvas @param {HTMLElement} tip @param {any} app */
  constructor(stage, canvas, tip, app) {
    this.stage = stage;
    this.canvas = canvas;
    this.tip = tip;
    this.app = app;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    this.width = 800;
    this.height = 400;
    this.scroll = 0; // lanes from the top, a fraction too
    /** @type {{from: bigint, to: bigint, width: number, first: number, total: number, lanes: Lane[]}} */
    this.model = {from: 0n, to: 1n, width: 1, first: 0, total: 0, lanes: []};
    /** @type {any} */
    this.gaps = {gaps: []};
    /** @type {any} */
    this.watches = {streams: [], watches: [], from: 0n, to: 1n, width: 1};
    /** @type {any} */
    this.density = null;
    /** Marks that a statement laid on.
     * @type {{ns: bigint, hollow: boolean}[]} */
    this.laid = [];
    /** Where a client of a replay stands.
     * @type {{ns: bigint, text: string}[]} */
    this.beliefs = [];
    this.frames = 0;
    this.asked = 0;
    this.wanted = "";
    this.colors = /** @type {Object<string, string>} */ ({});
    this.patterns = /** @type {Map<string, CanvasPattern>} */ (new Map());
    this.sprites = /** @type {Map<string, HTMLCanvasElement>} */ (new Map());
    this.range = /** @type {{a: number, b: number}|null} */ (null);
    /** @type {Map<number, {x: number, y: number}>} */
    this.pointers = new Map();
    /** What the pointer does while it is down.
     * @type {any} */
    this.drag = null;
    this.tipNumber = 0;
    this.readColors();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.readColors(); this.draw(); });
    new ResizeObserver(() => this.resize()).observe(stage);
    this.listen();
  }

  get left() { return Math.max(150, Math.min(290, this.width * 0.22)); }
  get plot() { return Math.max(50, this.width - this.left - 8); }
  get view() { return this.app.view; }
  get span() { return Number(this.view.to - this.view.from); }
  /** @param {bigint} ns */
  x(ns) { return this.left + Number(ns - this.view.from) / this.span * this.plot; }
  /** @param {number} x @returns {bigint} */
  timeAt(x) { return this.view.from + BigInt(Math.round((x - this.left) / this.plot * this.span)); }
  get rows() { return Math.max(1, (this.height - TOP) / LANE); }
  get watchRows() { return this.app.view.toggled.has("w/") ? this.shownStreams().length : 0; }
  get total() { return this.model.total + 1 + this.watchRows; }

  readColors() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["--ground", "--panel", "--line", "--ink", "--dim", "--accent", "--select", "--hover", "--row", "--gap", "--hid", "--mark", "--warning", "--spec",
      ...STATES.map(s => s.color)])
      this.colors[name] = style.getPropertyValue(name).trim();
    this.patterns.clear();
    this.sprites.clear();
  }

  resize() {
    const box = this.stage.getBoundingClientRect(), ratio = devicePixelRatio || 1;
    this.width = box.width;
    this.height = box.height;
    this.canvas.width = Math.round(box.width * ratio);
    this.canvas.height = Math.round(box.height * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.refresh();
  }

  // ---- data ----

  /** Draws at once, and asks when what is there does not cover the window.
   * @param {boolean} [anew] */
  refresh(anew = false) {
    this.draw();
    const v = this.view, margin = BigInt(Math.round(this.span * BEYOND)), width = Math.max(1, Math.round(this.plot * (1 + 2 * BEYOND)));
    const first = Math.max(0, Math.floor(this.scroll) - 15), count = Math.ceil(this.rows) + 30;
    const what = {filter: v.filter, writer: v.writer, sort: v.sort, toggled: [...v.toggled].filter(k => k !== "w/").join("\n")};
    const wanted = [v.from, v.to, width, first, count, JSON.stringify(what)].join(" ");
    if (!anew && wanted === this.wanted)
      return;
    this.wanted = wanted;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask({from: v.from - margin, to: v.to + margin, width}, {first, count, ...what}), this.asked ? 40 : 0);
  }

  /** @param {{from: bigint, to: bigint, width: number}} window_ @param {any} choice */
  async ask(window_, choice) {
    const number = ++this.asked, source = this.app.source;
    try {
      const [lanes, gaps, watches] = await Promise.all([source.ask("lanes", {...window_, ...choice}), source.ask("gaps", window_), source.ask("watches", window_)]);
      if (number !== this.asked)
        return;
      this.model = {...window_, first: lanes.first, total: lanes.total, lanes: lanes.lanes};
      this.gaps = gaps;
      this.watches = {...watches, ...window_};
      this.scroll = Math.max(0, Math.min(this.scroll, this.total - 2));
      this.app.onLanes(lanes);
      this.draw();
    } catch (e) {
      this.app.tell(e);
    }
  }

  /** @param {number} y @returns {number} the lane's number */
  laneNumber(y) { return y < TOP ? -1 : Math.floor((y - TOP) / LANE + this.scroll); }
  /** @param {number} n @returns {Lane|null} */
  lane(n) { return this.model.lanes[n - this.model.first] || null; }
  /** @param {string} key */
  numberOf(key) {
    const at = this.model.lanes.findIndex(l => l.key === key);
    return at < 0 ? -1 : at + this.model.first;
  }

  shownStreams() {
    const used = new Set(this.watches.watches.map((/** @type {any} */ w) => w.stream));
    return this.watches.streams.filter((/** @type {any} */ s) => used.has(s.stream));
  }

  // ---- drawing ----

  draw() {
    if (this.drawing)
      return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      this.paint();
      this.frames++;
    });
  }

  paint() {
    const c = this.context;
    c.fillStyle = this.colors["--ground"];
    c.fillRect(0, 0, this.width, this.height);
    c.save();
    c.beginPath();
    c.rect(0, TOP, this.width, this.height - TOP);
    c.clip();
    const first = Math.floor(this.scroll), last = Math.min(this.total, Math.ceil(this.scroll + this.rows));
    for (let n = first; n < last; n++)
      this.paintRow(n, TOP + (n - this.scroll) * LANE);
    c.restore();
    this.paintRuler();
    this.paintStrip();
    this.paintCursors();
    this.paintScrollbar();
  }

  /** @param {number} n @param {number} y */
  paintRow(n, y) {
    const c = this.context;
    if (n >= this.model.total) {
      this.paintWatchRow(n - this.model.total, y);
      return;
    }
    const lane = this.lane(n);
    if (!lane)
      return;
    if (lane.key === this.view.selected) {
      c.fillStyle = this.colors["--select"];
      c.fillRect(0, y, this.width, LANE);
    } else if (lane.type === "namespace") {
      c.fillStyle = this.colors["--panel"];
      c.fillRect(0, y, this.width, LANE);
    } else if (n % 2) {
      c.fillStyle = this.colors["--row"];
      c.fillRect(0, y, this.width, LANE);
    }
    this.paintLabel(lane, y);
    c.save();
    c.beginPath();
    c.rect(this.left, y, this.plot + 8, LANE);
    c.clip();
    this.paintGaps(lane, y);
    this.paintLane(lane, y);
    c.restore();
  }

  /** @param {Lane} lane @param {number} y */
  paintLabel(lane, y) {
    const c = this.context, x = 8 + lane.depth * INDENT, middle = y + LANE / 2 + 4;
    c.font = (lane.type === "namespace" ? "600 " : "") + "12px system-ui, 'DejaVu Sans', sans-serif";
    c.fillStyle = this.colors["--dim"];
    if (lane.below)
      c.fillText(lane.open ? "▾" : "▸", x, middle);
    const kind = lane.type === "object" ? lane.kind : "";
    const room = this.left - x - 22;
    c.fillStyle = this.colors[lane.key === this.view.selected ? "--accent" : "--ink"];
    const name = lane.type === "group" ? lane.label.split(".")[0] + " (" + lane.below + ")" : lane.label;
    const text = this.fit(visible(name), room);
    c.fillText(text, x + 13, middle);
    const used = c.measureText(text).width;
    if (kind && room - used > 34) {
      c.fillStyle = this.colors["--dim"];
      c.font = "10.5px system-ui, 'DejaVu Sans', sans-serif";
      c.fillText(this.fit(visible(kind), room - used - 8), x + 13 + used + 8, middle);
    }
  }

  /** @param {string} text @param {number} room */
  fit(text, room) {
    const c = this.context;
    if (text.length > 300)
      text = text.slice(0, 300);
    if (c.measureText(text).width <= room)
      return text;
    let low = 0, high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (c.measureText(text.slice(0, middle) + "…").width <= room) low = middle; else high = middle - 1;
    }
    return low ? text.slice(0, low) + "…" : "";
  }

  /** From pixels of the answer to pixels of the canvas.
   * @param {{from: bigint, to: bigint, width: number}} m */
  scale(m) {
    const begin = this.x(m.from), end = this.x(m.to), by = (end - begin) / m.width;
    return (/** @type {number} */ px) => begin + px * by;
  }

  /** @param {Lane} lane @param {number} y */
  paintLane(lane, y) {
    const c = this.context, at = this.scale(this.model);
    if (lane.type !== "object") {
      c.fillStyle = this.colors["--line"];
      c.fillRect(Math.max(this.left, at(lane.begin)), y + LANE / 2 - 1, this.left + this.plot - Math.max(this.left, at(lane.begin)), 2);
    } else {
      for (const [x0, x1, state] of lane.bars)
        this.paintBar(at(x0), at(x1), y, state, lane.steps.length > 0);
      this.paintSteps(lane, y, at);
      c.fillStyle = this.colors["--ink"];
      c.globalAlpha = 0.45;
      for (const px of lane.ticks) {
        const x = at(px + 0.5);
        if (x >= this.left)
          c.fillRect(Math.round(x), y + LANE - 7, 1, 4);
      }
      c.globalAlpha = 1;
      this.paintLives(lane, y, at);
    }
    this.paintMarks(lane, y, at);
  }

  /** Marks that would lie on each other are one, that which matters most, with how many there are. Which ones those are
   * depends on the time and how close it is looked at, so that nothing jumps while the window moves.
   * @param {Lane} lane @param {number} y @param {(px: number) => number} at */
  paintMarks(lane, y, at) {
    const m = this.model, base = Number(m.from - this.app.begin), by = Number(m.to - m.from) / m.width, cell = 2 ** Math.ceil(Math.log2(this.span / this.plot * 15));
    /** @type {any} */
    let group = null;
    const flush = (/** @type {number} */ next) => {
      if (group)
        this.paintMark(group.x, y, group.note, next - group.x > 36 ? group.count : 1);
      group = null;
    };
    for (const [px, note, , count] of lane.marks) {
      const x = at(px + 0.5), rank = RANKS.indexOf(note);
      if (x < this.left - 30 || x > this.left + this.plot + 30)
        continue;
      if (!noteOf(note).glyph) {
        this.paintMark(x, y, note, 1);
        continue;
      }
      const number = Math.floor((base + px * by) / cell);
      if (group && group.number !== number)
        flush(x);
      if (!group)
        group = {number, x, note, rank, count};
      else {
        group.count += count;
        if (rank > group.rank)
          Object.assign(group, {x, note, rank});
      }
    }
    flush(this.left + this.plot + 8);
  }

  /** @param {number} x0 @param {number} x1 @param {number} y @param {number} state @param {boolean} pale replicas are drawn over it */
  paintBar(x0, x1, y, state, pale) {
    const c = this.context, s = STATES[state] || STATES[1];
    x0 = Math.max(x0, this.left - 4);
    x1 = Math.min(Math.max(x1, x0 + 1), this.left + this.plot + 8);
    if (x1 < this.left || x0 > this.left + this.plot + 8)
      return;
    c.fillStyle = this.colors[s.color];
    c.globalAlpha = pale ? 0.35 : 1;
    c.fillRect(x0, y + 4, x1 - x0, LANE - 8);
    c.globalAlpha = 1;
    if (pale)
      return;
    if (s.pattern) {
      c.fillStyle = this.pattern(s.pattern);
      c.fillRect(x0, y + 4, x1 - x0, LANE - 8);
    }
    if (x1 - x0 > 64 && state > 2) {
      c.font = "600 10.5px system-ui, 'DejaVu Sans', sans-serif";
      c.fillStyle = state >= 8 || state === 6 ? "#fff" : "#1c2330";
      c.fillText(this.fit(s.name, x1 - x0 - 12), Math.max(x0, this.left) + 5, y + LANE / 2 + 4);
    }
  }

  /** @param {string} kind */
  pattern(kind) {
    const known = this.patterns.get(kind);
    if (known)
      return known;
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const t = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
    t.strokeStyle = t.fillStyle = kind === "gap" ? this.colors["--gap"] : kind === "hid" ? this.colors["--hid"] : "#0006";
    t.lineWidth = 1;
    t.beginPath();
    if (kind === "dots") {
      t.fillRect(1, 1, 1.6, 1.6);
      t.fillRect(4, 4, 1.6, 1.6);
    } else {
      const back = kind === "back", both = kind === "cross";
      if (!back) { t.moveTo(-1, 7); t.lineTo(7, -1); }
      if (back || both) { t.moveTo(-1, -1); t.lineTo(7, 7); }
      t.stroke();
    }
    const made = /** @type {CanvasPattern} */ (this.context.createPattern(tile, "repeat"));
    this.patterns.set(kind, made);
    return made;
  }

  /** What is not known: over every lane of the resource that was not watched.
   * @param {Lane} lane @param {number} y */
  paintGaps(lane, y) {
    const c = this.context;
    if (!lane.id || lane.type === "namespace")
      return;
    for (const g of this.gaps.gaps) {
      if (g.id !== lane.id || (g.namespace && g.namespace !== lane.namespace))
        continue;
      const x0 = Math.max(this.left, this.x(BigInt(g.begin))), x1 = Math.min(this.left + this.plot + 8, Math.max(this.x(BigInt(g.end)), this.x(BigInt(g.begin)) + 2));
      if (x1 <= x0)
        continue;
      c.globalAlpha = g.hid ? 0.16 : 0.1;
      c.fillStyle = this.colors[g.hid ? "--hid" : "--gap"];
      c.fillRect(x0, y, x1 - x0, LANE);
      c.globalAlpha = 0.75;
      c.fillStyle = this.pattern(g.hid ? "hid" : "gap");
      c.fillRect(x0, y, x1 - x0, LANE);
      c.globalAlpha = 1;
    }
  }

  /** Replicas: those that are ready as a surface, those that are wanted as a line.
   * @param {Lane} lane @param {number} y @param {(px: number) => number} at */
  paintSteps(lane, y, at) {
    const c = this.context, most = Math.max(1, ...lane.steps.map(s => Math.max(s[1], s[2]))), end = this.left + this.plot + 8;
    const height = (/** @type {number} */ n) => n / most * (LANE - 8);
    let labelled = -1e9;
    lane.steps.forEach(([px, wanted, ready], i) => {
      const x0 = Math.max(at(px), this.left), next = lane.steps[i + 1], last = lane.bars.length ? at(lane.bars[lane.bars.length - 1][1]) : end;
      const x1 = Math.min(next ? at(next[0]) : last, end), short = ready < wanted;
      if (x1 < this.left || x0 > end)
        return;
      c.fillStyle = this.colors[short ? "--degraded" : "--ready"];
      c.fillRect(x0, y + LANE - 4 - height(ready), x1 - x0, height(ready));
      c.fillStyle = this.colors["--ink"];
      c.fillRect(x0, y + LANE - 4 - height(wanted), x1 - x0, 1.5);
      if (x1 - x0 > 40 && x0 - labelled > 44) {
        c.font = "600 10.5px system-ui, 'DejaVu Sans', sans-serif";
        c.fillStyle = this.colors["--ink"];
        c.fillText(ready + "/" + wanted, x0 + 11, y + LANE / 2 + 5);
        labelled = x0;
      }
    });
  }

  /** A new life under an old name: a break, and both UIDs where there is room.
   * @param {Lane} lane @param {number} y @param {(px: number) => number} at */
  paintLives(lane, y, at) {
    const c = this.context;
    lane.lives.forEach(([px, uid], i) => {
      const x = at(px), end = i + 1 < lane.lives.length ? at(lane.lives[i + 1][0]) : this.left + this.plot;
      if (i > 0 && x >= this.left) {
        c.fillStyle = this.colors["--ground"];
        c.fillRect(x - 2, y + 1, 3, LANE - 2);
        c.fillStyle = this.colors["--accent"];
        c.fillRect(x, y + 1, 2, LANE - 2);
      }
      const from = Math.max(x, this.left) + (i > 0 && x >= this.left ? 10 : 3), text = "uid " + visible(uid).slice(0, 8);
      if (end - from > 92) {
        c.font = "10px ui-monospace, 'DejaVu Sans Mono', monospace";
        c.fillStyle = this.colors["--ground"];
        c.globalAlpha = 0.88;
        c.fillRect(from, y + 5, c.measureText(text).width + 6, LANE - 10);
        c.globalAlpha = 1;
        c.fillStyle = this.colors["--accent"];
        c.fillText(text, from + 3, y + LANE / 2 + 3.5);
      }
    });
  }

  /** @param {number} x @param {number} y @param {string} note @param {number} count */
  paintMark(x, y, note, count) {
    const c = this.context, look = noteOf(note);
    if (x < this.left - 2 || x > this.left + this.plot + 8)
      return;
    if (!look.glyph) {
      c.fillStyle = this.colors["--ink"];
      c.fillRect(Math.round(x) - (note === "added" ? 0 : 1), y + 3, note === "added" ? 1 : 2, LANE - 6);
      return;
    }
    c.drawImage(this.sprite(note), x - 8, y + LANE / 2 - 8, 16, 16);
    if (count < 2)
      return;
    c.font = "600 10px system-ui, 'DejaVu Sans', sans-serif";
    const text = count > 999 ? "999+" : String(count), width = c.measureText(text).width + 4;
    c.fillStyle = this.colors["--ground"];
    c.globalAlpha = 0.85;
    c.fillRect(x + 8, y + 5, width, LANE - 10);
    c.globalAlpha = 1;
    c.fillStyle = this.colors[look.color];
    c.fillText(text, x + 10, y + LANE / 2 + 3.5);
  }

  /** A mark as an image: drawn once.
   * @param {string} note */
  sprite(note) {
    const known = this.sprites.get(note);
    if (known)
      return known;
    const ratio = devicePixelRatio || 1, look = noteOf(note), made = document.createElement("canvas");
    made.width = made.height = Math.round(16 * ratio);
    const c = /** @type {CanvasRenderingContext2D} */ (made.getContext("2d"));
    c.scale(ratio, ratio);
    c.beginPath();
    c.arc(8, 8, 6.5, 0, 2 * Math.PI);
    c.fillStyle = this.colors["--ground"];
    c.fill();
    c.lineWidth = 1.4;
    c.strokeStyle = c.fillStyle = this.colors[look.color];
    c.stroke();
    c.font = "700 10px system-ui, 'DejaVu Sans', sans-serif";
    c.textAlign = "center";
    c.fillText(look.glyph, 8, 11.6);
    this.sprites.set(note, made);
    return made;
  }

  /** Connections: one row for each stream that had some.
   * @param {number} n @param {number} y */
  paintWatchRow(n, y) {
    const c = this.context;
    c.font = (n ? "" : "600 ") + "12px system-ui, 'DejaVu Sans', sans-serif";
    if (n === 0) {
      const selected = this.view.selected === "w/";
      c.fillStyle = this.colors[selected ? "--select" : "--panel"];
      c.fillRect(0, y, this.width, LANE);
      c.fillStyle = this.colors["--ink"];
      c.fillText((this.view.toggled.has("w/") ? "▾" : "▸") + "  watch connections (" + this.watches.watches.length + ")", 8, y + LANE / 2 + 4);
      return;
    }
    const s = this.shownStreams()[n - 1], at = this.scale(this.watches);
    if (!s)
      return;
    c.fillStyle = this.colors["--ink"];
    c.fillText(this.fit(visible(s.resource + (s.namespace ? " in " + s.namespace : "")), this.left - 40), 8 + INDENT + 13, y + LANE / 2 + 4);
    c.save();
    c.beginPath();
    c.rect(this.left, y, this.plot + 8, LANE);
    c.clip();
    this.paintGaps(/** @type {any} */ ({id: s.id, namespace: s.namespace, type: "object"}), y);
    for (const w of this.watches.watches) {
      if (w.stream !== s.stream)
        continue;
      const x0 = Math.max(at(w.x0), this.left), x1 = Math.max(at(w.x1), at(w.x0) + 2), watch = w.purpose !== "list";
      c.fillStyle = this.colors[watch ? "--accent" : "--dim"];
      c.globalAlpha = 0.55;
      c.fillRect(x0, y + LANE / 2 - (watch ? 4 : 2), x1 - x0, watch ? 8 : 4);
      c.globalAlpha = 1;
      if (watch && !w.open) {
        c.fillRect(x1 - 2, y + 4, 2, LANE - 8);
        c.font = "10px system-ui, 'DejaVu Sans', sans-serif";
        if (x1 - x0 > 60)
          c.fillText(this.fit(visible(w.reason), x1 - x0 - 10), Math.max(x0, x1 - 10 - c.measureText(visible(w.reason)).width), y + LANE / 2 + 3.5);
      }
    }
    c.restore();
  }

  // ---- the ruler and the strip ----

  paintRuler() {
    const c = this.context, step = rulerStep(this.span, this.plot);
    c.fillStyle = this.colors["--panel"];
    c.fillRect(0, STRIP, this.width, RULER);
    c.strokeStyle = this.colors["--line"];
    c.beginPath();
    c.moveTo(0, TOP - 0.5);
    c.lineTo(this.width, TOP - 0.5);
    c.stroke();
    c.font = "10.5px system-ui, 'DejaVu Sans', sans-serif";
    c.fillStyle = this.colors["--dim"];
    c.fillText(timeText(this.view.from, 0).slice(0, 10) + " UTC", 8, TOP - 6);
    const digits = step >= 1e9 ? 0 : step >= 1e6 ? 3 : step >= 1e3 ? 6 : 9, big = BigInt(step);
    for (let t = (this.view.from / big + 1n) * big; t < this.view.to; t += big) {
      const x = this.x(t), text = step >= 86400e9 ? timeText(t, 0).slice(5, 10) : clockText(t, digits);
      c.fillStyle = this.colors["--line"];
      c.globalAlpha = 0.5;
      c.fillRect(Math.round(x), TOP, 1, this.height - TOP);
      c.globalAlpha = 1;
      c.fillRect(Math.round(x), TOP - 5, 1, 5);
      c.fillStyle = this.colors["--dim"];
      c.fillText(text, x + 3, TOP - 6);
    }
  }

  /** @param {bigint} ns */
  stripX(ns) {
    const a = this.app;
    return this.left + Number(ns - a.begin) / Math.max(1, Number(a.end - a.begin)) * this.plot;
  }

  /** The whole tape: how many events when, what nobody watched, and where the window is. */
  paintStrip() {
    const c = this.context, a = this.app, d = this.density;
    c.fillStyle = this.colors["--panel"];
    c.fillRect(0, 0, this.width, STRIP);
    c.font = "10.5px system-ui, 'DejaVu Sans', sans-serif";
    c.fillStyle = this.colors["--dim"];
    c.fillText("events of the whole tape", 8, 17);
    if (d) {
      const kinds = d.resources.filter((/** @type {any} */ r) => a.isShown(r.id)), begin = BigInt(d.begin), bin = Number(d.bin);
      c.fillText(kinds.reduce((/** @type {number} */ n, /** @type {any} */ r) => n + r.events, 0).toLocaleString("en") + " events", 8, 32);
      const sums = /** @type {number[]} */ ([]);
      for (const r of kinds)
        r.counts.forEach((/** @type {number} */ n, /** @type {number} */ i) => { sums[i] = (sums[i] || 0) + n; });
      const columns = new Float64Array(Math.ceil(this.plot) + 1);
      sums.forEach((n, i) => {
        if (!n)
          return;
        const x = Math.floor(this.stripX(begin + BigInt(Math.round(i * bin))) - this.left);
        if (x >= 0 && x < columns.length)
          columns[x] += n;
      });
      const most = Math.log1p(Math.max(1, ...columns));
      c.fillStyle = this.colors["--accent"];
      columns.forEach((n, x) => {
        if (n) {
          const h = Math.max(1.5, Math.log1p(n) / most * (STRIP - 10));
          c.fillRect(this.left + x, STRIP - 3 - h, 1, h);
        }
      });
    }
    for (const g of a.allGaps) {
      const x0 = this.stripX(BigInt(g.begin)), x1 = Math.max(this.stripX(BigInt(g.end)), x0 + 2);
      c.fillStyle = this.colors[g.hid ? "--hid" : "--gap"];
      c.globalAlpha = g.hid ? 0.8 : 0.5;
      c.fillRect(x0, 2, x1 - x0, 4);
      c.globalAlpha = 1;
    }
    const x0 = Math.max(this.left, this.stripX(this.view.from)), x1 = Math.min(this.left + this.plot, this.stripX(this.view.to));
    c.fillStyle = this.colors["--ground"];
    c.globalAlpha = 0.55;
    c.fillRect(this.left, 0, x0 - this.left, STRIP);
    c.fillRect(x1, 0, this.left + this.plot - x1, STRIP);
    c.globalAlpha = 1;
    c.strokeStyle = this.colors["--accent"];
    c.strokeRect(x0 + 0.5, 0.5, Math.max(2, x1 - x0 - 1), STRIP - 1);
  }

  /** @param {bigint} ns @param {string} color @param {string} text @param {number[]} dash */
  paintTime(ns, color, text, dash) {
    const c = this.context, x = Math.round(this.x(ns)) + 0.5;
    if (x < this.left || x > this.left + this.plot + 8)
      return;
    c.strokeStyle = c.fillStyle = color;
    c.setLineDash(dash);
    c.lineWidth = 1.5;
    c.beginPath();
    c.moveTo(x, STRIP);
    c.lineTo(x, this.height);
    c.stroke();
    c.setLineDash([]);
    c.lineWidth = 1;
    c.font = "600 10.5px system-ui, 'DejaVu Sans', sans-serif";
    const width = c.measureText(text).width + 8, at = Math.min(x, this.width - width);
    c.fillRect(at, STRIP + 2, width, RULER - 4);
    c.fillStyle = this.colors["--ground"];
    c.fillText(text, at + 4, TOP - 6);
  }

  /** Where the replay stands, or what a client had been told by then: belief beside truth.
   * @param {{ns: bigint, text: string}} b @param {number} i */
  paintBelief(b, i) {
    const c = this.context, x = Math.round(this.x(b.ns)) + 0.5, text = visible(b.text), y = TOP + 4 + i * 17;
    if (x < this.left || x > this.left + this.plot + 8)
      return;
    c.strokeStyle = this.colors["--warning"];
    c.setLineDash([2, 3]);
    c.beginPath();
    c.moveTo(x, STRIP);
    c.lineTo(x, this.height);
    c.stroke();
    c.setLineDash([]);
    c.font = "600 10.5px system-ui, 'DejaVu Sans', sans-serif";
    const width = c.measureText(text).width + 8, at = Math.max(this.left, Math.min(x - width, this.width - width));
    c.fillStyle = this.colors["--warning"];
    c.fillRect(at, y, width, 14);
    c.fillStyle = this.colors["--ground"];
    c.fillText(text, at + 4, y + 10.5);
  }

  paintCursors() {
    const c = this.context, v = this.view;
    for (const m of this.laid) {
      const x = this.x(m.ns);
      if (x >= this.left && x <= this.left + this.plot) {
        const y = m.hollow ? TOP - 9 : TOP;
        c.fillStyle = c.strokeStyle = this.colors["--spec"];
        c.lineWidth = 1.2;
        c.beginPath();
        c.moveTo(x - 4, y);
        c.lineTo(x + 4, y);
        c.lineTo(x, y + 7);
        c.closePath();
        if (m.hollow) c.stroke(); else c.fill();
        c.globalAlpha = 0.25;
        c.fillRect(x, TOP, 1, this.height - TOP);
        c.globalAlpha = 1;
      }
    }
    this.beliefs.forEach((b, i) => this.paintBelief(b, i));
    if (v.mark)
      this.paintTime(v.mark.ns, this.colors["--mark"], "mark " + clockText(v.mark.ns), [5, 4]);
    if (v.cursor)
      this.paintTime(v.cursor.ns, this.colors["--accent"], clockText(v.cursor.ns), []);
    if (this.range) {
      c.fillStyle = this.colors["--accent"];
      c.globalAlpha = 0.2;
      c.fillRect(Math.min(this.range.a, this.range.b), STRIP, Math.abs(this.range.a - this.range.b), this.height);
      c.globalAlpha = 1;
    }
  }

  paintScrollbar() {
    if (this.total <= this.rows)
      return;
    const c = this.context, h = this.height - TOP, size = Math.max(20, h * this.rows / this.total);
    c.fillStyle = this.colors["--dim"];
    c.globalAlpha = 0.5;
    c.fillRect(this.width - 6, TOP + (h - size) * this.scroll / Math.max(1, this.total - this.rows), 5, size);
    c.globalAlpha = 1;
  }

  // ---- the window ----

  /** @param {number} by lanes */
  scrollBy(by) {
    this.scroll = Math.max(0, Math.min(this.scroll + by, Math.max(0, this.total - Math.floor(this.rows) + 1)));
    this.refresh();
  }

  /** @param {number} n */
  reveal(n) {
    if (n < this.scroll + 1)
      this.scroll = Math.max(0, n - 2);
    else if (n > this.scroll + this.rows - 2)
      this.scroll = Math.max(0, n - this.rows + 3);
    this.refresh();
  }

  /** @param {number} share of the window, to the right */
  panBy(share) {
    const by = BigInt(Math.round(this.span * share));
    this.app.setWindow(this.view.from + by, this.view.to + by);
  }

  /** @param {number} factor below 1: closer @param {bigint} about */
  zoom(factor, about) {
    const v = this.view, left = Number(about - v.from), right = Number(v.to - about);
    this.app.setWindow(about - BigInt(Math.round(left * factor)), about + BigInt(Math.round(right * factor)));
  }

  // ---- the pointer ----

  listen() {
    const s = this.stage;
    s.addEventListener("wheel", e => this.onWheel(e), {passive: false});
    s.addEventListener("pointerdown", e => this.onDown(e));
    s.addEventListener("pointermove", e => this.onMove(e));
    s.addEventListener("pointerup", e => this.onUp(e));
    s.addEventListener("pointercancel", e => { this.pointers.delete(e.pointerId); this.drag = null; });
    s.addEventListener("pointerleave", () => this.hideTip());
    s.addEventListener("dblclick", e => { if (this.place(e).y >= TOP) this.zoom(0.4, this.timeAt(this.place(e).x)); });
  }

  /** @param {MouseEvent} e */
  place(e) {
    const box = this.stage.getBoundingClientRect();
    return {x: e.clientX - box.left, y: e.clientY - box.top};
  }

  /** @param {WheelEvent} e */
  onWheel(e) {
    e.preventDefault();
    const {x, y} = this.place(e), unit = e.deltaMode ? 20 : 1;
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY))
      this.panBy((e.deltaX || e.deltaY) * unit / this.plot);
    else if (x < this.left && y > TOP)
      this.scrollBy(e.deltaY * unit / LANE);
    else
      this.zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY * unit * (e.ctrlKey ? 0.01 : 0.0022)))), this.timeAt(Math.max(this.left, x)));
  }

  /** @param {PointerEvent} e */
  onDown(e) {
    const {x, y} = this.place(e);
    this.stage.setPointerCapture(e.pointerId);
    this.stage.focus({preventScroll: true});
    this.pointers.set(e.pointerId, {x, y});
    this.hideTip();
    const kind = x > this.width - 9 && y > TOP ? "bar" : y < STRIP ? "strip" : e.shiftKey ? "range" : "pan";
    this.drag = {kind, x, y, lastX: x, lastY: y, moved: false};
    if (kind === "strip")
      this.centre(x);
  }

  /** @param {number} x */
  centre(x) {
    const a = this.app, share = Math.max(0, Math.min(1, (x - this.left) / this.plot));
    const middle = a.begin + BigInt(Math.round(share * Number(a.end - a.begin))), half = BigInt(this.view.to - this.view.from) / 2n;
    a.setWindow(middle - half, middle + half);
  }

  /** @param {PointerEvent} e */
  onMove(e) {
    const {x, y} = this.place(e), d = this.drag;
    if (!d) {
      this.hover(x, y);
      return;
    }
    const before = this.pointers.get(e.pointerId);
    if (this.pointers.size === 2 && before)
      this.pinch(e.pointerId, x);
    this.pointers.set(e.pointerId, {x, y});
    d.moved ||= Math.abs(x - d.x) + Math.abs(y - d.y) > 4;
    if (d.kind === "strip")
      this.centre(x);
    else if (d.kind === "bar")
      this.scrollBy((y - d.lastY) / (this.height - TOP) * this.total);
    else if (d.kind === "range")
      this.range = {a: d.x, b: x};
    else if (d.moved && this.pointers.size === 1) {
      this.panBy((d.lastX - x) / this.plot);
      this.scrollBy((d.lastY - y) / LANE);
    }
    d.lastX = x;
    d.lastY = y;
    this.draw();
  }

  /** @param {number} id @param {number} x */
  pinch(id, x) {
    const [one, two] = [...this.pointers.entries()], still = one[0] === id ? two[1] : one[1], moving = one[0] === id ? one[1] : two[1];
    const was = Math.abs(moving.x - still.x), is = Math.abs(x - still.x);
    if (was > 8 && is > 8)
      this.zoom(was / is, this.timeAt((x + still.x) / 2));
  }

  /** @param {PointerEvent} e */
  onUp(e) {
    const {x, y} = this.place(e), d = this.drag;
    this.pointers.delete(e.pointerId);
    this.drag = null;
    if (this.range) {
      const {a, b} = this.range;
      this.range = null;
      if (Math.abs(a - b) > 4)
        this.app.setWindow(this.timeAt(Math.min(a, b)), this.timeAt(Math.max(a, b)));
      this.draw();
    } else if (d && !d.moved && d.kind === "pan") {
      this.click(x, y);
    }
  }

  /** @param {number} x @param {number} y */
  click(x, y) {
    const n = this.laneNumber(y);
    if (n >= this.model.total && n < this.total) {
      if (n === this.model.total)
        this.app.toggle("w/");
      else if (x >= this.left)
        this.app.setCursor({ns: this.timeAt(x), seq: null});
      return;
    }
    const lane = n < 0 ? null : this.lane(n);
    if (lane && x < this.left && lane.below && (x < 8 + lane.depth * INDENT + 12 || lane.type !== "object")) {
      this.app.toggle(lane.key);
      return;
    }
    if (lane)
      this.app.select(lane.key);
    if (x >= this.left) {
      const mark = lane ? this.markAt(lane, x) : null;
      this.app.setCursor(mark ? {ns: this.timeAt(this.scale(this.model)(mark[0] + 0.5)), seq: mark[2]} : {ns: this.timeAt(x), seq: null}, mark !== null);
    }
  }

  /** @param {Lane} lane @param {number} x */
  markAt(lane, x) {
    const at = this.scale(this.model);
    let best = null, near = 7;
    for (const mark of lane.marks) {
      const away = Math.abs(at(mark[0] + 0.5) - x);
      if (away < near) {
        near = away;
        best = mark;
      }
    }
    return best;
  }

  /** @param {Lane} lane @param {number} x */
  stateAt(lane, x) {
    const at = this.scale(this.model);
    const bar = lane.bars && lane.bars.find(b => at(b[0]) <= x && x <= at(b[1]));
    return bar ? STATES[bar[2]].name : "";
  }

  /** @param {number} x @param {number} y */
  hover(x, y) {
    clearTimeout(this.hoverTimer);
    const n = this.laneNumber(y), lane = n >= 0 && n < this.model.total ? this.lane(n) : null;
    if (!lane || x < this.left) {
      this.hideTip();
      if (lane)
        this.stage.title = visible(lane.label) + (lane.type === "object" ? " (" + visible(lane.kind) + ")" : "");
      return;
    }
    this.stage.title = "";
    this.hoverTimer = setTimeout(() => this.showTip(lane, x, y), 110);
  }

  hideTip() {
    clearTimeout(this.hoverTimer);
    this.tipNumber = this.tipNumber + 1;
    this.tip.hidden = true;
  }

  /** @param {Lane} lane @param {number} x @param {number} y */
  async showTip(lane, x, y) {
    const number = this.tipNumber = this.tipNumber + 1, mark = this.markAt(lane, x), ns = this.timeAt(x);
    const gap = this.gaps.gaps.find((/** @type {any} */ g) => g.id === lane.id && BigInt(g.begin) <= ns && ns <= BigInt(g.end));
    const head = [el("b", {}, visible(lane.label)), " " + visible(lane.kind || "") + ", " + clockText(ns), el("div", {}, this.stateAt(lane, x))];
    if (gap)
      head.push(el("div", {class: "bad"}, "not watched for " + durationText(Number(BigInt(gap.end) - BigInt(gap.begin))) + ": " + visible(gap.words)));
    this.tip.replaceChildren(...head);
    this.tip.hidden = false;
    this.placeTip(x, y);
    if (!mark && lane.type !== "object")
      return;
    try {
      const event = await this.app.source.ask("event", mark ? {seq: mark[2]} : {key: lane.key, at: ns});
      if (number !== this.tipNumber)
        return;
      this.tip.append(...tipOfEvent(event, mark ? mark[1] : ""));
      this.placeTip(x, y);
    } catch (e) {
      // A lane may have nothing there: then there is nothing to add.
    }
  }

  /** @param {number} x @param {number} y */
  placeTip(x, y) {
    const w = this.tip.offsetWidth, h = this.tip.offsetHeight;
    this.tip.style.left = Math.max(4, Math.min(x + 14, this.width - w - 6)) + "px";
    this.tip.style.top = Math.max(4, y + 18 + h > this.height ? y - h - 12 : y + 18) + "px";
  }
}

/** @param {any} event @param {string} note */
export function tipOfEvent(event, note) {
  const look = NOTES[/** @type {keyof typeof NOTES} */ (note)];
  const out = [el("div", {}, look && look.glyph ? look.glyph + " " + look.words : "", " " + event.type + " at " + clockText(BigInt(event.time_ns)) + ", event " + event.seq)];
  if (event.reason || event.message)
    out.push(el("div", {class: "bad"}, visible(event.reason || "") + ": " + visible(event.message || "")));
  const rows = event.changes.rows, list = el("ul");
  for (const [, , field, path, , old, now, manager] of rows.slice(0, 7)) {
    if (path !== "$")
      list.append(el("li", {}, visible(field) + ": " + cut(old) + " → " + cut(now) + (manager ? "  by " + visible(manager) : "")));
  }
  if (rows.length > 7)
    list.append(el("li", {}, "and " + (rows.length - 7) + " more"));
  if (list.children.length)
    out.push(list);
  const [user, agent] = rows.length ? rows[0].slice(8) : [];
  if (user)
    out.push(el("div", {}, "asked for by " + visible(user) + (agent ? " with " + visible(agent) : "") + " (audit log)"));
  return out;
}

/** @param {any} value */
function cut(value) {
  const text = value === null ? "nothing" : visible(value);
  return text.length > 60 ? text.slice(0, 60) + "…" : text;
}

/** A round time between two lines of the ruler.
 * @param {number} span @param {number} pixels */
function rulerStep(span, pixels) {
  const least = span / Math.max(1, pixels / 110);
  const rounds = [1, 2, 5, 10, 20, 50, 100, 200, 500].flatMap(n => [n, n * 1e3, n * 1e6]).concat([1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400,
    172800, 604800, 2592000].map(s => s * 1e9)).sort((a, b) => a - b);
  return rounds.find(r => r >= least) || rounds[rounds.length - 1];
}
