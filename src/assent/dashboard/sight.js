// Which part of a call was on the screen. What was not cannot be allowed: not by key, not by button, not with others.

const seen = new WeakMap(); // for each block of text, the stretches of its height that were visible
const EDGE = 14; // padding and border at the ends, which hold no text

const BARS = "nav, .bulk:not([hidden])"; // what may stand still over the end of the page, and cover it

// How far down the page can be seen.
function lowest() {
  const bars = [...document.querySelectorAll(BARS)].filter((bar) => getComputedStyle(bar).position === "fixed");
  return Math.min(innerHeight, ...bars.map((bar) => bar.getBoundingClientRect().top));
}

// Tells whether some of a card is on the screen, and not its edge alone.
export function isInSight(element) {
  const { top, bottom, height } = element.getBoundingClientRect();
  return Math.min(bottom, lowest()) - Math.max(top, 0) >= Math.min(height, 3 * EDGE);
}

const blocksOf = (element) => [...element.querySelectorAll(".input .code")];

// The stretch of a block that is visible now, in pixels from the top of its text.
function stretch(block) {
  const box = block.getBoundingClientRect();
  const [top, bottom] = [Math.max(0, box.top), Math.min(lowest(), box.bottom)];
  return bottom > top ? [top - box.top + block.scrollTop, bottom - box.top + block.scrollTop] : null;
}

function join(stretches) {
  const joined = [];
  for (const [from, to] of stretches.sort((a, b) => a[0] - b[0])) {
    const last = joined.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined;
}

function isCovered(block) {
  const [first] = seen.get(block) || [];
  return Boolean(first) && first[0] <= EDGE && first[1] >= block.scrollHeight - EDGE;
}

// Notes what of a card is visible, and tells whether all of its call was by now.
export function look(element) {
  if (document.visibilityState !== "visible" || !element.isConnected || document.querySelector("dialog[open]")) return false;
  const blocks = blocksOf(element);
  for (const block of blocks) {
    const visible = stretch(block);
    if (visible) seen.set(block, join([...(seen.get(block) || []), visible]));
  }
  return !isFolded(element) && blocks.every(isCovered);
}

// Tells whether a part of the call is left out of what a card shows.
export const isFolded = (element) => element.querySelector(".input [data-cut]") !== null;

// The first block of which not all was visible yet.
export const unseen = (element) => blocksOf(element).find((block) => block.hasAttribute("data-cut") || !isCovered(block));
