// Highlight the words of a command by the tier of the operation they belong to.
// For display only: words that are not found stay plain, and the list of operations below is complete.

import { h } from "./dom.js";
import { plain, shown } from "./text.js";

const UNKNOWN = "\ufdd0";
const LONGEST = 20000;
const RANK = { safe: 0, dangerous: 1, destructive: 2 };
const EDGE = /[\s;&|()<>`"'$={}]/;
const BETWEEN = /^[\s'"\\$]*$/;

const isEdge = (text, at) => at < 0 || at >= text.length || EDGE.test(text[at]);

function findWord(text, word, from) {
  for (let at = text.indexOf(word, from); at >= 0; at = text.indexOf(word, at + 1)) {
    if (isEdge(text, at - 1) && isEdge(text, at + word.length)) return at;
  }
  return -1;
}

// The range of a command's words, as far as only blanks and quotes separate them.
function findCommand(text, argv, from) {
  const words = argv.filter((word) => word && !word.includes(UNKNOWN));
  if (!words.length || words[0] !== argv[0]) return null;
  const start = findWord(text, words[0], from);
  if (start < 0) return null;
  let end = start + words[0].length;
  for (const word of words.slice(1)) {
    const at = text.indexOf(word, end);
    if (at < 0 || !BETWEEN.test(text.slice(end, at))) break;
    end = at + word.length;
  }
  return [start, end];
}

// The range of a path or host: among the words of its command first, then anywhere, as in a redirection.
function findResource(text, operation, cwd, within) {
  const names = [operation.resource];
  if (cwd && operation.resource.startsWith(`${cwd}/`)) names.push(operation.resource.slice(cwd.length + 1));
  const known = names.filter((name) => name && !name.includes(UNKNOWN));
  for (const [from, to] of [within || [0, 0], [0, text.length]]) {
    for (const name of known) {
      const at = text.slice(0, to).indexOf(name, from);
      if (at >= 0) return [at, at + name.length];
    }
  }
  return null;
}

function locate(text, operations, cwd) {
  const places = new Map();
  let [start, end, depth] = [-1, 0, 0];
  operations.forEach((operation, index) => {
    if (!operation.argv?.length) return;
    // Search after the previous command, or inside it for a nested one: earlier words may only look alike.
    const [inner, find] = [operation.through?.length || 0, (from) => findCommand(text, operation.argv, from)];
    const found = inner > depth ? find(start + 1) || find(0) : find(end) || find(start + 1) || find(0);
    depth = inner;
    if (!found) return;
    places.set(index, found);
    if (found[0] > start) [start, end] = found;
  });
  operations.forEach((operation, index) => {
    if (operation.argv?.length || operation.kind === "tool.call") return;
    const found = findResource(text, operation, cwd, places.get(operation.owner));
    if (found) places.set(index, found);
  });
  return places;
}

// Offsets of the parts that are not safe or name a secret; none in a line too long to search.
export function graveParts(text, operations, cwd) {
  if (text.length > LONGEST || !operations?.length) return [];
  return [...locate(text, operations, cwd)].filter(([index]) => operations[index].tier !== "safe" || operations[index].secret).map(([, [start]]) => start);
}

// A slice of the line as nodes, coloured by tier; a click on a part calls `explain` with its operation.
export function coloured(text, operations, { start: begin = 0, end = text.length, cwd, explain = () => {} } = {}) {
  if (text.length > LONGEST || !operations?.length) return shown(text.slice(begin, end));
  const owners = new Array(text.length).fill(-1);
  const places = [...locate(text, operations, cwd)].sort(([, a], [, b]) => b[1] - b[0] - (a[1] - a[0]));
  for (const [index, [start, end]] of places) {
    const rank = RANK[operations[index].tier];
    for (let at = start; at < end; at++) {
      const before = owners[at];
      if (before < 0 || operations[index].argv?.length || rank >= RANK[operations[before].tier]) owners[at] = index;
    }
  }
  return runs(owners.slice(begin, end)).flatMap(([from, to, index]) => {
    const piece = shown(text.slice(begin + from, begin + to));
    if (index < 0) return piece;
    const operation = operations[index];
    return h("span", { class: `part ${operation.tier}`, title: plain(`${operation.tier}: ${operation.reason}`), onclick: () => explain(operation) }, piece);
  });
}

function runs(owners) {
  const found = [];
  for (let start = 0, at = 1; at <= owners.length; at++) {
    if (at < owners.length && owners[at] === owners[start]) continue;
    found.push([start, at, owners[start]]);
    start = at;
  }
  return found;
}
