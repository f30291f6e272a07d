// Build elements from data. Text stays text: no code of the dashboard parses HTML.

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

// Announce a text to screen readers.
export function say(text) {
  byId("said").textContent = text;
}

// Show a short message at the edge of the screen, with an optional action such as Undo.
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

// Open a modal dialog; Escape or a click beside it closes it and returns the focus.
export function showDialog(box) {
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => event.target === box && box.close());
  document.body.append(box);
  box.showModal();
  return box;
}

const SETTLE = 400;

// Ignore clicks just after content moved: they may have been meant for what was there before.
export function settle(place, done = () => {}) {
  place.classList.add("moving");
  clearTimeout(place.settling);
  place.settling = setTimeout(() => {
    place.classList.remove("moving");
    done();
  }, SETTLE);
}

const nameOf = (control) => [control.tagName, control.getAttribute("href"), control.ariaLabel || control.textContent].join(" ");

// Draw a place again: keep the focus and the open details; where the focused control is gone, focus the place.
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

// The same, but only if the data has changed.
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
