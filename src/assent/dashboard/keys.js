// The keys, for whoever wants to know them.

import { button, h, showDialog } from "./dom.js";

const KEYS = [
  ["j k", "next and previous question"],
  ["Home End", "the first and the last"],
  ["a", "allow once"],
  ["s", "allow for this session"],
  ["w", "allow always, or until a time"],
  ["d", "deny"],
  ["f", "deny with words"],
  ["e", "edit and allow"],
  ["x", "select, to answer several at once"],
  ["Shift+A Shift+S Shift+D", "the same answers, for all that are selected"],
  ["z", "take back what was just allowed for longer"],
  ["1 … 6", "go to a page"],
  ["Esc", "leave a form"],
];

export function showKeys() {
  if (document.querySelector("dialog")) return;
  const key = (word) => (word === "…" ? word : h("kbd", {}, word));
  const close = button("Close", { kind: "plain", key: "Esc", onclick: () => box.close() });
  const rows = KEYS.map(([words, what]) => [h("dt", {}, words.split(" ").map(key)), h("dd", {}, what)]);
  const box = showDialog(h("dialog", { "aria-label": "Keys" }, h("div", { class: "title" }, h("h2", {}, "Keys"), h("span", { class: "gap" }), close), h("dl", { class: "keys" }, rows)));
}
