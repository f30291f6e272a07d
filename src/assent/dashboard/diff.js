// The difference between two texts, word by word.

import { h } from "./dom.js";
import { count, isLong, shown } from "./text.js";

const MOST = 1200;

const tokens = (text) => text.match(/\s+|[\w./-]+|[^\s\w]/gu) || [];

// Return [kind, text] pairs. Above a size, everything between the equal ends counts as replaced.
export function compare(before, after) {
  let [a, b] = [tokens(before), tokens(after)];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const [start, end] = [a.slice(0, head), tail ? a.slice(-tail) : []];
  [a, b] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  const middle = a.length * b.length > MOST * MOST ? [["del", a.join("")], ["ins", b.join("")]] : align(a, b);
  return join([["same", start.join("")], ...middle, ["same", end.join("")]]);
}

function align(a, b) {
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  const found = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { found.push(["same", a[i++]]); j++; }
    else if (j >= b.length || (i < a.length && table[i + 1][j] >= table[i][j + 1])) found.push(["del", a[i++]]);
    else found.push(["ins", b[j++]]);
  }
  return found;
}

function join(pairs) {
  const joined = [];
  for (const pair of pairs) {
    if (!pair || !pair[1]) continue;
    if (joined.length && joined.at(-1)[0] === pair[0]) joined.at(-1)[1] += pair[1];
    else joined.push([...pair]);
  }
  return joined;
}

export function difference(before, after) {
  const nodes = compare(before, after).map(([kind, text]) => {
    if (kind === "same") return shown(text);
    return h(kind, {}, h("span", { class: "unseen" }, kind === "ins" ? "added: " : "removed: "), shown(text));
  });
  const long = [before, after].some((text) => isLong(text));
  const block = h("pre", { class: long ? "code diff whole" : "code diff", tabindex: "0", "aria-label": "Changes" }, nodes);
  const size = (text) => `${count(text.split("\n").length, "line")}, ${count(text.length, "character")}`;
  return long ? h("div", { class: "long" }, block, h("p", { class: "notice" }, `Long text: scroll to see all of it. Before: ${size(before)}. After: ${size(after)}.`)) : block;
}
