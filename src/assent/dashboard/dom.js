// Builds elements from data. Text only ever becomes text: nothing here, or anywhere, parses HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function h(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function svg(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

export function put(parent, ...children) {
  parent.stamp = undefined;
  parent.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return parent;
}

export const byId = (id) => document.getElementById(id);

// Tells a screen reader.
export function say(text) {
  byId("said").textContent = text;
}

// A short word at the edge of the screen; with an action, such as undoing it.
export function toast(text, { action, label, key, bad = false, seconds = 6 } = {}) {
  const close = () => box.remove();
  const box = h("div", { class: bad ? "toast bad" : "toast" }, h("span", {}, text));
  if (action) {
    box.append(button(label, { key, kind: "plain", onclick: () => { close(); action(); } }));
  }
  byId("toasts").append(box);
  setTimeout(close, (action ? 12 : seconds) * 1000);
  return box;
}

export function button(label, { key, kind = "", title, ...more } = {}) {
  const parts = [label, key ? h("kbd", { "aria-hidden": "true" }, key) : null];
  return h("button", { type: "button", class: kind, title, "aria-keyshortcuts": key, ...more }, ...parts);
}

export function field(label, control, hint) {
  return h("label", { class: "field" }, h("span", {}, label), control, hint ? h("small", {}, hint) : null);
}

export function select(options, chosen, properties = {}) {
  const made = h("select", properties, options.map(([value, label]) => h("option", { value }, label)));
  made.value = chosen;
  return made;
}

// Opens a dialog: it holds the focus until it is left, by Escape or a click beside it, and then gives it back.
export function showDialog(box) {
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => event.target === box && box.close());
  document.body.append(box);
  box.showModal();
  return box;
}

const SETTLE = 400;

// A click just after something moved may have been meant for what was there before: for a moment none is taken.
export function settle(place, done = () => {}) {
  place.classList.add("moving");
  clearTimeout(place.settling);
  place.settling = setTimeout(() => {
    place.classList.remove("moving");
    done();
  }, SETTLE);
}

const nameOf = (control) => [control.tagName, control.getAttribute("href"), control.ariaLabel || control.textContent].join(" ");

// Draws a place anew, and not under a hand: what had the focus has it again, what was unfolded stays so, and where the
// focused thing is gone its place has the focus.
export function redraw(place, draw) {
  const held = place.contains(document.activeElement) ? nameOf(document.activeElement) : null;
  const unfolded = new Set([...place.querySelectorAll("details[open] > summary")].map(nameOf));
  put(place, draw());
  for (const summary of place.querySelectorAll("details > summary")) if (unfolded.has(nameOf(summary))) summary.parentElement.open = true;
  if (held === null) return;
  const again = [...place.querySelectorAll("a, button, summary")].find((each) => nameOf(each) === held);
  if (!again) place.tabIndex = -1;
  (again || place).focus({ preventScroll: true });
}

// The same, if what it shows has changed.
export function renew(place, data, draw) {
  const stamp = JSON.stringify(data);
  if (place.stamp === stamp) return;
  if (place.stamp !== undefined) settle(place);
  redraw(place, draw);
  place.stamp = stamp;
}

export function debounce(milliseconds, action) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), milliseconds);
  };
}
