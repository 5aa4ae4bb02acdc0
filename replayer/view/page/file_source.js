// @ts-check
// The data of a page that was saved with `kubetape export --format html`, and the answers that the server would have given.
import {AnswerError} from "./source.js";
import {STATES, timeText} from "./model.js";

/** The data of this page; null when a server sent it.
 * @returns {Promise<any>} */
export async function fileData() {
  const script = document.getElementById("data");
  if (!script)
    return null;
  const packed = Uint8Array.from(atob((script.textContent || "").trim()), c => c.charCodeAt(0));
  script.remove();
  const unpack = new (/** @type {any} */ (window).DecompressionStream)("deflate");
  return JSON.parse(await new Response(new Blob([packed]).stream().pipeThrough(unpack)).text());
}

const OPEN_LANES = 400;
const LOUD = ["restart", "warning", "missed", "recreated", "oom"]; // what a closed lane shows of those below it
const WRITER_BINS = 256;

export class FileSource {
  /** @param {any} data */
  constructor(data) {
    this.data = data;
    this.isFile = true;
    /** @type {{name: string, ms: number}[]} */
    this.times = [];
    /** @type {any[]} */
    this.events = data.events.map((/** @type {any[]} */ [seq, time_ns, type, key, uid, rv, origin, object]) => ({seq, time_ns, type, key, uid, rv, origin, object}));
    /** @type {Map<string, any[]>} */
    this.ofKey = new Map();
    /** @type {Map<string, any>} */
    this.ofSeq = new Map();
    for (const e of this.events) {
      this.ofSeq.set(e.seq, e);
      const own = this.ofKey.get(e.key);
      if (own) own.push(e); else this.ofKey.set(e.key, [e]);
    }
    /** @type {Map<string, any[][]>} */
    this.changesOf = new Map();
    for (const row of data.changes) {
      const own = this.changesOf.get(row[0]);
      if (own) own.push(row); else this.changesOf.set(row[0], [row]);
    }
  }

  /** @param {string} name @param {Object<string, any>} [p] @returns {Promise<any>} */
  async ask(name, p = {}) {
    const begin = performance.now(), answer = this.answer(name, p);
    this.times.push({name, ms: performance.now() - begin});
    if (this.times.length > 100)
      this.times.shift();
    return answer;
  }

  /** @param {string} name @param {Object<string, any>} p */
  answer(name, p) {
    switch (name) {
    case "summary": return {desk: false, run: false, golden: false, sweep: false, picture: {...this.data.summary, live: false, share: 1, begin: this.data.from, end: this.data.to}};
    case "density": case "notable": return this.data[name];
    case "gaps": return this.gaps(p);
    case "watches": return this.watches(p);
    case "lanes": return this.lanes(p);
    case "writers": return this.writers();
    case "position": return this.position(p);
    case "event": return this.event(p);
    case "object": return this.object(p);
    case "changes": return this.changes(p);
    case "state": return this.state(p);
    default: throw new AnswerError("a page with its data in it cannot do that: `kubetape view` can", 404);
    }
  }

  // ---- windows ----

  /** From pixels of the data to those of a window.
   * @param {any} p */
  scale(p) {
    const from = BigInt(this.data.from), to = BigInt(this.data.to), w0 = BigInt(p.from), length = Number(BigInt(p.to) - w0);
    const begin = Number(from - w0) / length * Number(p.width), by = Number(to - from) / length * Number(p.width) / this.data.width;
    return (/** @type {number} */ x) => begin + x * by;
  }

  /** @param {any} p */
  gaps(p) {
    const gaps = this.data.gaps.gaps.filter((/** @type {any} */ g) => BigInt(g.begin) <= BigInt(p.to) && BigInt(g.end) >= BigInt(p.from));
    return {gaps, total: gaps.length};
  }

  /** @param {any} p */
  watches(p) {
    const at = this.scale(p), watches = this.data.watches.watches.map((/** @type {any} */ w) => ({...w, x0: at(w.x0), x1: at(w.x1)}));
    return {streams: this.data.watches.streams, watches, total: watches.length};
  }

  // ---- lanes ----

  /** @param {any} p */
  lanes(p) {
    const all = this.data.lanes.lanes, at = this.scale(p), shown = this.shownLanes(p), first = Number(p.first) || 0;
    const lanes = shown.slice(first, first + (Number(p.count) || 200)).map(([i, open]) => {
      const lane = all[i], below = open ? [] : all.slice(i + 1, i + 1 + lane.below).flatMap((/** @type {any} */ l) => l.marks.filter((/** @type {any[]} */ m) => LOUD.includes(m[1])));
      return {...lane, open, begin: at(lane.begin || 0), marks: [...lane.marks, ...below].map(([x, ...rest]) => [at(x), ...rest]), bars: (lane.bars || []).map((/** @type {number[]} */ [a, b, s]) => [at(a), at(b), s]),
        ticks: (lane.ticks || []).map(at), lives: (lane.lives || []).map((/** @type {any[]} */ [x, ...rest]) => [at(x), ...rest]), steps: (lane.steps || []).map((/** @type {number[]} */ [x, ...rest]) => [at(x), ...rest])};
    });
    return {lanes, first, total: shown.length, share: 1};
  }

  /** Places of the lanes to show, and whether each is open.
   * @param {any} p @returns {[number, boolean][]} */
  shownLanes(p) {
    const all = this.data.lanes.lanes, filter = (p.filter || "").toLowerCase(), toggled = new Set((p.toggled || "").split("\n")), keep = filter || p.writer ? this.matches(filter, p.writer) : null;
    const shown = /** @type {[number, boolean][]} */ ([]);
    for (let i = 0; i < all.length;) {
      const lane = all[i];
      if (keep && !keep[i]) {
        i += lane.below + 1;
        continue;
      }
      const open = lane.below > 0 && (keep ? keep[i] === 2 : lane.type === "namespace" ? lane.key !== "n/" : lane.type === "object" && all.length <= OPEN_LANES) !== toggled.has(lane.key);
      shown.push([i, open]);
      i += open ? 1 : lane.below + 1;
    }
    return shown;
  }

  /** Of each lane: 1 it matches, 2 something below it does.
   * @param {string} filter @param {string} writer */
  matches(filter, writer) {
    const all = this.data.lanes.lanes, keep = new Uint8Array(all.length), path = /** @type {number[]} */ ([]), touched = writer ? new Set(this.rowsOf(writer).map(e => e.key)) : null;
    all.forEach((/** @type {any} */ lane, /** @type {number} */ i) => {
      path.length = lane.depth;
      if (lane.type === "object" && lane.key.toLowerCase().includes(filter) && (!touched || touched.has(lane.key))) {
        keep[i] = keep[i] || 1;
        for (const up of path)
          keep[up] = 2;
      }
      path.push(i);
    });
    return keep;
  }

  // ---- events ----

  /** Events that a writer changed a field in.
   * @param {string} writer */
  rowsOf(writer) {
    return this.events.filter(e => e.type === "MODIFIED" && (this.changesOf.get(e.seq) || []).some(r => (r[6] || "(no manager)") === writer));
  }

  writers() {
    const begin = BigInt(this.data.from), bin = (BigInt(this.data.to) - begin) / BigInt(WRITER_BINS) + 1n;
    /** @type {Map<string, any>} */
    const found = new Map();
    for (const e of this.events) {
      if (e.type !== "MODIFIED")
        continue;
      for (const [, , , , , , manager] of this.changesOf.get(e.seq) || []) {
        const name = manager || "(no manager)", w = found.get(name) || {name, events: 0, fields: 0, keys: new Set(), counts: new Array(WRITER_BINS).fill(0), last: ""};
        found.set(name, w);
        w.fields++;
        w.keys.add(e.key);
        if (w.last !== e.seq) {
          w.last = e.seq;
          w.events++;
          w.counts[Math.max(0, Math.min(WRITER_BINS - 1, Number((BigInt(e.time_ns) - begin) / bin)))]++;
        }
      }
    }
    return {share: 1, begin: String(begin), bin: String(bin), writers: [...found.values()].map(w => ({...w, objects: w.keys.size, keys: undefined})).sort((a, b) => b.events - a.events)};
  }

  /** The place in a list of the last event up to a number, or a time.
   * @param {any[]} list @param {any} p */
  lastOf(list, p) {
    const seq = p.seq ? BigInt(p.seq) : null, at = p.at !== undefined ? BigInt(p.at) : null;
    let last = -1;
    list.forEach((e, i) => { if (seq !== null ? BigInt(e.seq) <= seq : at === null || BigInt(e.time_ns) <= at) last = i; });
    return last;
  }

  /** As the server tells of an event.
   * @param {any} e */
  told(e) {
    const [resource, namespace, ...name] = e.key.split("/"), [short, ...group] = resource.split("."), known = this.data.summary.resources.find((/** @type {any} */ r) => r.resource === short && r.group === group.join("."));
    return {seq: e.seq, time_ns: e.time_ns, type: e.type, origin: e.origin, key: e.key, uid: e.uid, rv: e.rv, resource: short, group: group.join("."), kind: known ? known.kind : short, namespace, name: name.join("/")};
  }

  /** @param {any[]} rows */
  changeRows(rows) {
    return {rows: rows.map(([seq, ...rest]) => [seq, "", ...rest]), truncated: false};
  }

  /** @param {any} p */
  event(p) {
    const list = p.key ? this.ofKey.get(p.key) || [] : this.events, e = p.seq && !p.key ? this.ofSeq.get(String(p.seq)) : list[this.lastOf(list, p)];
    if (!e)
      throw new AnswerError("that event is not in this page", 404);
    const body = /"reason":/.test(e.object) && /^events\//.test(e.key) ? JSON.parse(e.object) : {};
    return {...this.told(e), reason: body.reason, message: body.message, changes: this.changeRows(this.changesOf.get(e.seq) || [])};
  }

  /** @param {any} p */
  object(p) {
    const list = this.ofKey.get(p.key);
    if (!list)
      throw new AnswerError("no object '" + p.key + "' is in this page", 404);
    const i = this.lastOf(list, p), seq = (/** @type {any} */ e) => e ? e.seq : "0";
    return {before: seq(list[i - 1]), after: seq(list[i + 1]), ...(i < 0 ? {} : {...this.told(list[i]), object: list[i].object})};
  }

  /** @param {any} p */
  changes(p) {
    const after = BigInt(p.after || 0), until = BigInt(p.until || "9223372036854775807");
    const rows = (this.ofKey.get(p.key) || []).filter(e => BigInt(e.seq) > after && BigInt(e.seq) <= until).flatMap(e => this.changesOf.get(e.seq) || []);
    return {key: p.key, changes: this.changeRows(rows)};
  }

  /** @param {any} p */
  position(p) {
    let ns = p.at_ns !== undefined ? BigInt(p.at_ns) : null, seq = /^(?:seq:)?(\d{1,9})$/.exec(p.at || "");
    if (seq && this.ofSeq.has(seq[1]))
      return {seq: seq[1], time_ns: this.ofSeq.get(seq[1]).time_ns, remark: ""};
    const day = timeText(BigInt(this.data.from), 0).slice(0, 10), found = /^(?:(\d{4}-\d\d-\d\d)[T ])?(\d{1,2}:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?Z?$/.exec(p.at || "");
    if (ns === null && found) {
      const clock = found[2].padStart(found[2].length < 6 ? 5 : 8, "0");
      ns = BigInt(Date.parse((found[1] || day) + "T" + clock + (clock.length === 5 ? ":00Z" : "Z"))) * 1000000n + BigInt((found[3] || "0").padEnd(9, "0"));
    } else if (ns === null) {
      throw new AnswerError("expected a time such as 09:51:40, or the number of an event", 400);
    }
    const e = this.events[this.lastOf(this.events, {at: ns})];
    return {seq: e ? e.seq : "0", time_ns: String(ns), remark: ""};
  }

  /** Names and states: the columns of kubectl are made by the server alone.
   * @param {any} p */
  state(p) {
    const rows = /** @type {any[]} */ ([]), filter = (p.filter || "").toLowerCase(), lanes = new Map(this.data.lanes.lanes.map((/** @type {any} */ l) => [l.key, l]));
    const x = Number(BigInt(p.time) - BigInt(this.data.from)) / Number(BigInt(this.data.to) - BigInt(this.data.from)) * this.data.width;
    for (const [key, list] of this.ofKey) {
      const e = key.startsWith(p.resource + "/") && key.toLowerCase().includes(filter) ? list[this.lastOf(list, {seq: p.seq, at: p.time})] : null;
      if (!e || e.type === "DELETED")
        continue;
      const t = this.told(e), lane = lanes.get(key), bar = lane && lane.bars ? lane.bars.find((/** @type {number[]} */ b) => b[0] <= x && x <= b[1]) : null;
      rows.push([t.namespace, t.name, e.seq, e.uid, t.name, bar ? STATES[bar[2]].name : "", e.rv, e.uid]);
    }
    rows.sort((a, b) => (a[0] + "/" + a[1] < b[0] + "/" + b[1] ? -1 : 1));
    return {columns: ["Name", "State", "Version", "UID"].map(name => ({name, wide: false})), rows, total: rows.length};
  }
}
