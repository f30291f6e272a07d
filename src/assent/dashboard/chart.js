// SVG charts, each with a table of its figures for screen readers.

import { h, svg } from "./dom.js";

const WIDE = 960;
const NARROW = 330;
const HEIGHT = 190;
const [LEFT, BOTTOM, TOP] = [40, 24, 10];
const KINDS = ["allow", "ask", "deny"];

function nice(most) {
  const size = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 4, 6, 8, 10].map((step) => step * size).find((step) => step >= most);
}

function label(at, seconds) {
  const date = new Date(at);
  if (seconds < 86400) return date.toLocaleString(undefined, seconds <= 3600 ? { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } : { weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  return date.toLocaleDateString(undefined, { month: "short", day: "numeric" });
}

// Stacked bars, one per period.
export function bars(points, seconds, title) {
  const WIDTH = matchMedia("(max-width: 720px)").matches ? NARROW : WIDE;
  const most = nice(Math.max(2, ...points.map((point) => point.allow + point.ask + point.deny)));
  const [inner, tall] = [WIDTH - LEFT, HEIGHT - BOTTOM - TOP];
  const step = inner / points.length;
  const y = (value) => TOP + tall - (value / most) * tall;
  const lines = [0, 0.5, 1].map((part) => [svg("line", { class: "grid", x1: LEFT, x2: WIDTH, y1: y(part * most), y2: y(part * most) }), svg("text", { class: "axis", x: LEFT - 8, y: y(part * most) + 4, "text-anchor": "end" }, (part * most).toLocaleString("en"))]);
  const every = Math.ceil(points.length / (WIDTH === WIDE ? 8 : 4));
  const drawn = points.map((point, index) => {
    let base = 0;
    const x = LEFT + index * step + step * 0.12;
    const stack = KINDS.map((kind) => {
      const [from, to] = [base, (base += point[kind])];
      return point[kind] ? svg("rect", { class: `bar ${kind}`, x, y: y(to), width: step * 0.76, height: Math.max(1, y(from) - y(to)) }) : null;
    });
    const words = `${label(point.at, seconds)}: ${KINDS.map((kind) => `${point[kind]} ${kind}`).join(", ")}`;
    const mark = index % every === 0 && (points.length - index) * step > 70 ? svg("text", { class: "axis", x: LEFT + index * step, y: HEIGHT - 6 }, label(point.at, seconds)) : null;
    return svg("g", {}, svg("title", {}, words), svg("rect", { class: "hit", x: LEFT + index * step, y: TOP, width: step, height: tall }), stack, mark);
  });
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title }, lines, drawn);
  return h("figure", {}, picture, legend(), table(points, seconds, title));
}

const legend = () => h("figcaption", { class: "legend" }, KINDS.map((kind) => h("span", {}, h("span", { class: `swatch ${kind}`, "aria-hidden": "true" }), kind)));

function table(points, seconds, title) {
  const rows = points.filter((point) => KINDS.some((kind) => point[kind])).map((point) => h("tr", {}, h("th", { scope: "row" }, label(point.at, seconds)), KINDS.map((kind) => h("td", {}, point[kind]))));
  return h("details", { class: "figures" }, h("summary", {}, "Show as a table"), h("table", {}, h("caption", { class: "unseen" }, title), h("thead", {}, h("tr", {}, ["Time", ...KINDS].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows)));
}

// A bar for one row of a list.
export function share(part, whole) {
  const width = whole ? Math.max(1, Math.round((part / whole) * 100)) : 0;
  return svg("svg", { class: "share", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { class: "back", width: 100, height: 6 }), svg("rect", { class: "fore", width, height: 6 }));
}
