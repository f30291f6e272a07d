// Tracks which parts of a call were visible. A call that was not fully visible cannot be allowed, by key, button or batch.

const seen = new WeakMap(); // block of text → vertical ranges that were visible
const EDGE = 14; // padding and border, without text

const BARS = "nav, .bulk:not([hidden])"; // fixed bars that may cover the end of the page

// The lowest visible y coordinate.
function lowest() {
  const bars = [...document.querySelectorAll(BARS)].filter((bar) => getComputedStyle(bar).position === "fixed");
  return Math.min(innerHeight, ...bars.map((bar) => bar.getBoundingClientRect().top));
}

// Whether more than the edge of a card is on the screen.
export function isVisible(element) {
  const { top, bottom, height } = element.getBoundingClientRect();
  return Math.min(bottom, lowest()) - Math.max(top, 0) >= Math.min(height, 3 * EDGE);
}

const blocksOf = (element) => [...element.querySelectorAll(".input .code")];

// The visible range of a block, in pixels from the top of its text.
function visibleRange(block) {
  const box = block.getBoundingClientRect();
  const [top, bottom] = [Math.max(0, box.top), Math.min(lowest(), box.bottom)];
  return bottom > top ? [top - box.top + block.scrollTop, bottom - box.top + block.scrollTop] : null;
}

function merge(ranges) {
  const merged = [];
  for (const [from, to] of ranges.sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}

function isCovered(block) {
  const [first] = seen.get(block) || [];
  return Boolean(first) && first[0] <= EDGE && first[1] >= block.scrollHeight - EDGE;
}

// Record what is visible of a card; return whether all of its call has been visible.
export function look(element) {
  if (document.visibilityState !== "visible" || !element.isConnected || document.querySelector("dialog[open]")) return false;
  const blocks = blocksOf(element);
  for (const block of blocks) {
    const visible = visibleRange(block);
    if (visible) seen.set(block, merge([...(seen.get(block) || []), visible]));
  }
  return !isFolded(element) && blocks.every(isCovered);
}

// Whether the card shows the call shortened.
export const isFolded = (element) => element.querySelector(".input [data-cut]") !== null;

// The first block that was not fully visible yet.
export const unseen = (element) => blocksOf(element).find((block) => block.hasAttribute("data-cut") || !isCovered(block));
