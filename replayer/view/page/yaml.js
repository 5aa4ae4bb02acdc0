// @ts-check
// Objects as YAML with the path of each line, from the text of their JSON: numbers keep their digits. And what differs
// between two of them.

/** @typedef {{text: string, path: string, depth: number, fold: number}} Line  fold: how many lines follow that are folded at first */

/** A value: a string, the raw text of anything else that is plain, an array, or a list of members.
 * @typedef {{s?: string, raw?: string, items?: Json[], members?: [string, Json][]}} Json */

/** @param {string} text @returns {Json} */
export function parseExact(text) {
  let at = 0;
  const space = () => { while (at < text.length && " \t\r\n".includes(text[at])) at++; };
  const string = () => {
    const begin = at++;
    while (at < text.length && text[at] !== '"')
      at += text[at] === "\\" ? 2 : 1;
    return /** @type {string} */ (JSON.parse(text.slice(begin, ++at)));
  };
  /** @param {string} close @param {() => void} take */
  const list = (close, take) => {
    at++;
    for (space(); at < text.length && text[at] !== close; space()) {
      take();
      space();
      if (text[at] === ",") at++;
    }
    at++;
  };
  /** @returns {Json} */
  const value = () => {
    space();
    if (text[at] === '"')
      return {s: string()};
    if (text[at] === "[") {
      const items = /** @type {Json[]} */ ([]);
      list("]", () => items.push(value()));
      return {items};
    }
    if (text[at] === "{") {
      const members = /** @type {[string, Json][]} */ ([]);
      list("}", () => {
        const key = string();
        space();
        at++;
        members.push([key, value()]);
      });
      return {members};
    }
    const begin = at;
    while (at < text.length && !",]} \t\r\n".includes(text[at])) at++;
    return {raw: text.slice(begin, Math.max(at, begin + 1))};
  };
  return value();
}

/** @param {string} s */
function scalar(s) {
  if (/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"\\]/.test(s))
    return JSON.stringify(s).replace(/[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
  if (s === "" || /^[\s\-?:,[\]{}#&*!|>'%@`]|: |:$| #|\s$|^(true|false|null|yes|no|on|off|~)$|^[-+.]?\d/i.test(s))
    return JSON.stringify(s);
  return s;
}

/** @param {string} path @param {string} key */
function memberPath(path, key) {
  return /^[A-Za-z_][A-Za-z0-9_-]*$/.test(key) ? path + "." + key : path + "['" + key + "']";
}

/** @param {Json} v @param {string} indent @param {string} lead @param {string} path @param {number} depth @param {Line[]} to */
function putValue(v, indent, lead, path, depth, to) {
  if (v.members && v.members.length) {
    if (lead)
      to.push({text: lead, path, depth, fold: 0});
    putMembers(v.members, indent, "", path, depth + 1, to);
  } else if (v.items && v.items.length) {
    if (lead)
      to.push({text: lead, path, depth, fold: 0});
    v.items.forEach((item, i) => putItem(item, indent.slice(2), path + "[" + i + "]", depth + 1, to));
  } else {
    const text = v.s !== undefined ? scalar(v.s) : v.raw !== undefined ? v.raw : v.items ? "[]" : "{}";
    to.push({text: lead ? lead + " " + text : indent + text, path, depth, fold: 0});
  }
}

/** @param {[string, Json][]} members @param {string} indent @param {string} first @param {string} path @param {number} depth @param {Line[]} to */
function putMembers(members, indent, first, path, depth, to) {
  members.forEach(([key, v], i) => {
    const begin = to.length, p = memberPath(path, key);
    putValue(v, indent + "  ", (i === 0 && first ? first : indent) + scalar(key) + ":", p, depth, to);
    if (p === "$.metadata.managedFields" && to.length - begin > 1)
      to[begin].fold = to.length - begin - 1;
  });
}

/** @param {Json} item @param {string} indent @param {string} path @param {number} depth @param {Line[]} to */
function putItem(item, indent, path, depth, to) {
  if (item.members && item.members.length)
    putMembers(item.members, indent + "  ", indent + "- ", path, depth, to);
  else
    putValue(item, indent + "  ", indent + "-", path, depth, to);
}

/** @param {string} json @returns {Line[]} */
export function yamlLines(json) {
  const root = parseExact(json), to = /** @type {Line[]} */ ([]);
  if (root.members)
    putMembers(root.members, "", "", "$", 0, to);
  else
    putValue(root, "", "", "$", 0, to);
  return to;
}

/** Lines without what every write changes.
 * @param {Line[]} lines */
function compared(lines) {
  return lines.filter(l => !l.path.startsWith("$.metadata.managedFields") && l.path !== "$.metadata.resourceVersion");
}

const LINES_MAX = 3000;

/** The lines of both, each with " ", "-" or "+".
 * @param {string} a @param {string} b
 * @returns {{sign: string, line: Line}[]} */
export function diffLines(a, b) {
  const x = compared(yamlLines(a)), y = compared(yamlLines(b)), out = /** @type {{sign: string, line: Line}[]} */ ([]);
  let head = 0, tail = 0;
  while (head < x.length && head < y.length && x[head].text === y[head].text) head++;
  while (tail < x.length - head && tail < y.length - head && x[x.length - 1 - tail].text === y[y.length - 1 - tail].text) tail++;
  y.slice(0, head).forEach(line => out.push({sign: " ", line}));
  middleDiff(x.slice(head, x.length - tail), y.slice(head, y.length - tail), out);
  y.slice(y.length - tail).forEach(line => out.push({sign: " ", line}));
  return out;
}

/** The longest common lines.
 * @param {Line[]} x @param {Line[]} y @param {{sign: string, line: Line}[]} out */
function middleDiff(x, y, out) {
  if (x.length > LINES_MAX || y.length > LINES_MAX || !x.length || !y.length) {
    x.forEach(line => out.push({sign: "-", line}));
    y.forEach(line => out.push({sign: "+", line}));
    return;
  }
  const width = y.length + 1, best = new Uint16Array((x.length + 1) * width);
  for (let i = x.length - 1; i >= 0; i--) {
    for (let k = y.length - 1; k >= 0; k--)
      best[i * width + k] = x[i].text === y[k].text ? best[(i + 1) * width + k + 1] + 1 : Math.max(best[(i + 1) * width + k], best[i * width + k + 1]);
  }
  let i = 0, k = 0;
  while (i < x.length || k < y.length) {
    if (i < x.length && k < y.length && x[i].text === y[k].text) {
      out.push({sign: " ", line: y[k++]});
      i++;
    } else if (i < x.length && (k === y.length || best[(i + 1) * width + k] >= best[i * width + k + 1])) {
      out.push({sign: "-", line: x[i++]});
    } else {
      out.push({sign: "+", line: y[k++]});
    }
  }
}

/** Who wrote what stands at a path, by rows of changes: the last one that is about it or what holds it.
 * @param {{path: string, manager: string}[]} changes @param {string} path */
export function writerOf(changes, path) {
  for (let i = changes.length - 1; i >= 0; i--) {
    const p = changes[i].path;
    if (p === "$")
      continue;
    if (path === p || path.startsWith(p + ".") || path.startsWith(p + "[") || p.startsWith(path + ".") || p.startsWith(path + "["))
      return changes[i].manager || "";
  }
  return "";
}
