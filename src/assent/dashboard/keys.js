// The dialog that lists the keyboard shortcuts.

import { button, h, showDialog } from "./dom.js";

const KEYS = [
  ["j k", "next and previous question"],
  ["Home End", "first and last question"],
  ["a", "allow once"],
  ["s", "allow for this session"],
  ["w", "allow always, or until a time"],
  ["d", "deny"],
  ["f", "deny and say why"],
  ["e", "edit and allow"],
  ["x", "select, to answer several at once"],
  ["Shift+A Shift+S Shift+D", "the same answers for all selected questions"],
  ["z", "undo the last approval for longer"],
  ["1 … 6", "go to a page"],
  ["Esc", "close a form"],
];

export function showKeys() {
  if (document.querySelector("dialog")) return;
  const key = (word) => (word === "…" ? word : h("kbd", {}, word));
  const close = button("Close", { kind: "plain", key: "Esc", onclick: () => box.close() });
  const rows = KEYS.map(([words, what]) => [h("dt", {}, words.split(" ").map(key)), h("dd", {}, what)]);
  const box = showDialog(h("dialog", { "aria-label": "Keys" }, h("div", { class: "title" }, h("h2", {}, "Keys"), h("span", { class: "gap" }), close), h("dl", { class: "keys" }, rows)));
}
