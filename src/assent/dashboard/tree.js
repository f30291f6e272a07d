// The operations of a call as a tree: each below its command, or below the layer that contains it.

import { h } from "./dom.js";
import { named, told } from "./text.js";

const VERBS = { "fs.read": "reads", "fs.write": "writes", "fs.exec": "runs the file", "net.connect": "contacts", "tool.call": "calls" };
const RANK = { safe: 0, dangerous: 1, destructive: 2 };

const programOf = (text) => text.trim().split(/\s+/)[0].split("/").pop();

// Drop repeated operations, except commands: the same command twice runs twice.
function distinct(operations) {
  const seen = new Set();
  const isNew = ({ kind, resource, reason, owner, through }) => kind === "command.execute" || seen.size < seen.add(JSON.stringify([kind, resource, reason, owner, through])).size;
  return new Set(operations.filter(isNew));
}

export const countOf = (operations) => distinct(operations).size;

function nest(operations) {
  const root = { inner: [] };
  const shown = distinct(operations);
  const nodes = operations.map((operation) => ({ operation, inner: [] }));
  const layers = new Map([["", root]]);
  const nameOf = (through) => through.join("\u0001");
  const layerOf = (through) => {
    const name = nameOf(through);
    if (layers.has(name)) return layers.get(name);
    const above = layerOf(through.slice(0, -1));
    const opener = layers.get(`${nameOf([...through.slice(0, -1), programOf(through.at(-1))])}\u0002`);
    const made = opener || { layer: through.at(-1), inner: [] };
    if (!opener) above.inner.push(made);
    layers.set(name, made);
    return made;
  };
  operations.forEach((operation, index) => {
    if (!shown.has(operation)) return;
    if (operation.owner !== undefined && operation.owner !== null && operation.owner < index) {
      nodes[operation.owner].inner.push(nodes[index]);
      return;
    }
    const through = operation.through || [];
    layerOf(through).inner.push(nodes[index]);
    if (operation.kind === "command.execute") {
      layers.set(`${nameOf([...through, programOf(operation.resource)])}\u0002`, nodes[index]);
    }
  });
  return root.inner;
}

function branch(node) {
  const inner = node.inner.length ? h("ul", {}, node.inner.map(branch)) : null;
  if (!node.operation) return h("li", { class: "layer" }, h("span", { class: "quiet" }, told(node.layer)), inner);
  const { kind, resource, target, tier, reason, impact, rollback } = node.operation;
  return h(
    "li",
    { class: `step ${tier}` },
    h("span", { class: "mark", "aria-hidden": "true" }),
    h("span", { class: "unseen" }, `${tier}: `),
    VERBS[kind] ? `${VERBS[kind]} ` : null,
    named(resource),
    target && target !== resource ? h("span", { class: "warn" }, " links to ", named(target)) : null,
    h("span", { class: "quiet" }, " ", told(reason)),
    impact ? h("div", { class: "quiet" }, "impact: ", told(impact)) : null,
    rollback ? h("div", { class: "quiet" }, "to undo: ", told(rollback)) : null,
    inner,
  );
}

const MOST = 60;

export function tree(operations) {
  const list = h("ul", { class: "tree" }, nest(operations.slice(0, MOST)).map(branch));
  if (operations.length <= MOST) return list;
  const more = h("button", { type: "button", class: "plain", onclick: () => box.replaceChildren(h("ul", { class: "tree" }, nest(operations).map(branch))) }, `Show the other ${operations.length - MOST} operations`);
  const box = h("div", {}, list, more);
  return box;
}

// Group the resources: files written, run and read, hosts contacted.
export function touched(operations) {
  const of = (kind) => {
    const found = new Map();
    for (const operation of operations.filter((each) => each.kind === kind)) {
      const known = found.get(operation.resource);
      if (!known || RANK[operation.tier] > RANK[known.tier]) found.set(operation.resource, operation);
    }
    return [...found.values()];
  };
  return [["Writes", of("fs.write")], ["Runs files", of("fs.exec")], ["Reads", of("fs.read")], ["Contacts", of("net.connect")]].filter(([, found]) => found.length);
}
