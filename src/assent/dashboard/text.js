// Show text faithfully: invisible and reordering characters are escaped, and shortened text says so.

import { h } from "./dom.js";

const UNKNOWN = "\ufdd0";
// The same list as the daemon's: controls, formats, surrogates, private and unassigned, odd spaces, invisible marks.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f\u{e0100}-\u{e01ef}]|(?! )\p{Zs}/u;
const ODD = /[^\n\x20-\x7e]/u;
const LURKING = new RegExp(`(?![\n${UNKNOWN}])(?:${HIDDEN.source})`, "u");
const SHORT = { "\t": "\\t", "\r": "\\r", "\x1b": "\\e", "\0": "\\0", "\b": "\\b" };
const LONG = 2000;
const LINES = 40;
const NAME = { longest: 240, lines: 4 };
const MANY = 20000; // above this, one element per odd character would freeze the page

function escapeOf(char) {
  if (SHORT[char]) return SHORT[char];
  const code = char.codePointAt(0).toString(16);
  return code.length <= 2 ? `\\x${code.padStart(2, "0")}` : code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\u{${code}}`;
}

const nameOf = (char) => `U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

// A combining mark without a letter, or the third on one letter: these can cover the characters around them.
const PILED = /(?<=^|[^\p{L}\p{M}])\p{M}+|(?<=\p{M}{2})\p{M}+/gu;
const MARK = /\p{M}/u;

// Offsets of piled-up combining marks.
function piles(text) {
  const found = new Set();
  if (MARK.test(text)) for (const { index, 0: run } of text.matchAll(PILED)) for (let at = 0; at < run.length; at++) found.add(index + at);
  return found;
}

// Classify a character: plain, foreign (may look like another) or escaped (invisible).
function kindOf(char, ours) {
  if (char === "\n" || (char >= " " && char <= "~") || ours.includes(char)) return "";
  return HIDDEN.test(char) ? "escaped" : "foreign";
}

function node(kind, run) {
  if (!kind) return run;
  const names = [...run].slice(0, 8).map(nameOf).join(" ");
  if (kind === "foreign") return h("span", { class: kind, title: names }, run);
  return h("span", { class: kind, title: `${names}, invisible` }, [...run].map(escapeOf).join(""));
}

// The text as nodes. Characters beyond ASCII are underlined: they may only look like another.
export function shown(text, ours = "") {
  if (!ODD.test(text)) return [text];
  if (text.length > MANY) return [spell(text)];
  const nodes = [];
  const piled = piles(text);
  let [run, before, at] = ["", "", 0];
  for (const char of text) {
    const kind = piled.has(at) ? "escaped" : kindOf(char, ours);
    at += char.length;
    if (kind !== before && run) {
      nodes.push(node(before, run));
      run = "";
    }
    run += char;
    before = kind;
  }
  return run ? [...nodes, node(before, run)] : nodes;
}

// Text that the daemon wrote about a call: `…` stands for a value known only at run time.
export const told = (text) => shown(String(text ?? "").replaceAll(UNKNOWN, "…"), "…·–“”");

// The same as a string, for titles and notifications.
export const plain = (text) => (ODD.test(text) ? spell(text.replaceAll(UNKNOWN, "…")) : text);

function spell(text) {
  const escapes = (run) => [...run].map(escapeOf).join("");
  return [...text.replace(PILED, escapes)].map((char) => (char !== "\n" && HIDDEN.test(char) ? escapeOf(char) : char)).join("");
}

export const isOdd = (text) => ODD.test(text) && (LURKING.test(text) || text.search(PILED) >= 0);

// The beginning of a text, for a small space.
export const brief = (text, most) => (text.length > most ? `${text.slice(0, most)}…` : text);

// How much of a text is shown at first. Lines count too: empty ones can push the rest off the screen.
function cutOf(text, { longest = LONG, lines = LINES }) {
  let end = -1;
  for (let line = 0; line < lines && end < longest; line++) {
    end = text.indexOf("\n", end + 1);
    if (end < 0 || end === text.length - 1) return Math.min(longest, text.length);
  }
  return Math.min(longest, end);
}

export const isLong = (text, limits = {}) => cutOf(text, limits) < text.length;

const linesOf = (text) => text.split("\n").length;

// Where the tail of a shortened text begins: a quarter as many lines or characters as its beginning has.
function tailOf(text, end, { longest = LONG, lines = LINES }) {
  let start = text.length;
  for (let line = 0; line < Math.ceil(lines / 4) && start > 0; line++) start = text.lastIndexOf("\n", start - 1);
  return Math.max(end, start + 1, text.length - Math.ceil(longest / 4));
}

const MOST_GRAVE = 8;
const LINE = 200;

// The omitted lines that contain something not safe, with their numbers.
function graveLines(text, places, end, start) {
  const found = new Map();
  for (const at of places) {
    if (at < end || at >= start || found.size >= MOST_GRAVE) continue;
    const from = Math.max(text.lastIndexOf("\n", at) + 1, at - LINE / 2);
    const to = Math.min(...[text.indexOf("\n", at), from + LINE, start].filter((place) => place > at));
    found.set(from, [linesOf(text.slice(0, at)), from, to]);
  }
  return [...found.values()].sort(([, a], [, b]) => a - b);
}

// A block of code. A long one shows its beginning, its end and the grave lines between, says how much is missing and
// can be expanded. `render` returns the nodes of a slice; `grave` the offsets of the grave parts.
export function code(text, { render = (whole, start, end) => shown(whole.slice(start, end)), grave = () => [], ...limits } = {}) {
  const block = h("pre", { class: "code", tabindex: "0" });
  const end = cutOf(text, limits);
  if (end === text.length) {
    block.append(...render(text, 0, end));
    return block;
  }
  const start = tailOf(text, end, limits);
  const measure = end < (limits.longest ?? LONG) ? linesOf : (piece) => piece.length;
  const [all, left] = [measure(text), Math.max(1, measure(text) - measure(text.slice(0, end)) - measure(text.slice(start)))];
  const what = measure === linesOf ? "lines" : "characters";
  const more = h("button", { type: "button", class: "plain", onclick: () => whole() }, `Show the other ${left.toLocaleString("en")} ${what}`);
  const whole = () => {
    block.classList.add("whole");
    block.removeAttribute("data-cut");
    block.replaceChildren(...render(text, 0, text.length));
    more.remove();
    note.textContent = `All ${all.toLocaleString("en")} ${what} are shown.`;
    block.focus();
    block.dispatchEvent(new CustomEvent("expanded", { bubbles: true }));
  };
  const note = h("span", {}, `Shows the beginning and the end: ${(all - left).toLocaleString("en")} of ${all.toLocaleString("en")} ${what}. `);
  const gap = (words = "…") => h("span", { class: "cut" }, `\n${words}\n`);
  const between = graveLines(text, grave(text), end, start).flatMap(([number, from, to]) => [gap(`… line ${number.toLocaleString("en")}:`), ...render(text, from, to)]);
  block.append(...render(text, 0, end), ...between, gap(`… ${left.toLocaleString("en")} ${what} left out …`), ...render(text, start, text.length));
  block.setAttribute("data-cut", "");
  return h("div", { class: "long" }, block, h("p", { class: "notice" }, note, more));
}

// A file or host name from the daemon.
export function named(text, properties = {}) {
  if (!isLong(text, NAME)) return h("code", properties, told(text));
  return code(text, { ...NAME, render: (whole, start, end) => told(whole.slice(start, end)) });
}

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

export function duration(seconds) {
  const left = Math.max(0, Math.round(seconds));
  const [size, unit] = UNITS.find(([length]) => left >= length) || UNITS[3];
  const rest = size === 3600 && left < 36000 ? Math.floor((left % 3600) / 60) : 0;
  return `${Math.floor(left / size)} ${unit}${rest ? ` ${rest} min` : ""}`;
}

export const ago = (milliseconds) => `${duration((Date.now() - milliseconds) / 1000)} ago`;

const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
const clock = new Intl.DateTimeFormat(undefined, CLOCK);
const dated = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", ...CLOCK });

export function time(milliseconds) {
  const at = new Date(milliseconds);
  const today = at.toDateString() === new Date().toDateString();
  return h("time", { datetime: at.toISOString(), title: at.toLocaleString() }, (today ? clock : dated).format(at));
}

export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

// The tier of a call. Only a call allowed without a question is shown as safe.
export function tier(name, { decision = "ask", source = "" } = {}) {
  if (name !== "safe" || (["allow", "sandboxed"].includes(decision) && source !== "person")) return h("span", { class: `tier ${name}` }, name);
  return decision === "ask" ? h("span", { class: "tier asked" }, "asked") : null;
}

// One mark per stake.
export const stakes = (names) => (names || []).map((name) => h("span", { class: `stake ${name.replaceAll(" ", "-")}` }, name));

export const verdict = (word) => h("span", { class: `verdict ${word}` }, word);
