// The daemon's own runs, over the run protocol: which there are, how they stand, what guards them, and stopping them.

import { button, h, put, toast } from "./dom.js";
import { ago, told } from "./text.js";

const LOOK = 3000;
const GOING = ["pending", "running"];
const KINDS = { pending: "ask", running: "ask", completed: "allow", error: "deny", cancelled: "deny" };

// Keeps a list of runs up to date; tells of everything that is said about those that are watched.
export class Runs {
  constructor({ listed, said = () => {} }) {
    this.listed = listed;
    this.said = said;
    this.socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/ws`, ["assent"]);
    this.socket.onopen = () => this.look();
    this.socket.onmessage = (event) => this.hear(JSON.parse(event.data));
    this.timer = setInterval(() => this.look(), LOOK);
  }

  look() {
    if (this.socket.readyState === 1 && document.visibilityState === "visible") this.send({ type: "list_runs" });
  }

  send(message) {
    this.socket.send(JSON.stringify(message));
  }

  hear(message) {
    if (message.type === "run_list") this.listed(message.runs);
    else if (message.type === "error") toast(message.message, { bad: true });
    else this.said(message);
  }

  watch(runId) {
    this.send({ type: "subscribe", runId });
  }

  stop(runId) {
    this.send({ type: "stop_run", runId });
    setTimeout(() => this.look(), 200);
  }

  close() {
    clearInterval(this.timer);
    this.socket.close();
  }
}

export function runCard(run, runs) {
  const status = h("span", { class: `verdict ${KINDS[run.status]}` }, run.status);
  return h(
    "li",
    { class: "card session" },
    h("div", { class: "head" }, h("strong", {}, h("a", { href: `/sessions?id=${encodeURIComponent(run.runId)}` }, told(run.strategyName || run.runId))), h("span", { class: "quiet" }, told(run.runId)), status, h("span", { class: "clock quiet" }, `begun ${ago(Date.parse(run.startedAt || run.createdAt))}`), GOING.includes(run.status) ? button("Stop", { kind: "refuse", onclick: () => runs.stop(run.runId) }) : null),
    h("p", { class: "quiet" }, "in ", h("code", {}, told(run.cwd))),
    run.error ? h("p", { class: "notice bad" }, told(run.error)) : null,
  );
}

// What is to be seen of one run beside its timeline; nothing if the id is not a run's.
export function runPanel(place, id) {
  const chains = new Map();
  const steps = h("ul", { class: "plainlist" });
  const guards = h("dl", { class: "facts" });
  let watched = false;
  const runs = new Runs({
    listed: (found) => {
      const run = found.find((each) => each.runId === id);
      if (!run) return;
      if (!watched && GOING.includes(run.status)) runs.watch(id);
      watched = true;
      put(place, h("section", { class: "panel wide" }, h("ul", {}, runCard(run, runs)), chains.size ? [h("h3", {}, "What guards its tools"), guards] : null, steps.childElementCount ? [h("h3", {}, "Steps"), steps] : null));
    },
    said: (message) => {
      if (message.runId !== id) return;
      if (message.type === "policy_updated") {
        chains.set(message.tool, message.policies.map((each) => each.name));
        put(guards, [...chains].map(([tool, names]) => [h("dt", {}, tool), h("dd", {}, names.map((name) => [h("span", { class: "tag" }, name), " "]))]));
      } else if (message.type === "step_started") steps.append(h("li", {}, told(`${message.stepName} begins`)));
      else if (message.type === "step_completed") steps.append(h("li", {}, told(`${message.stepName}: ${message.result.slice(0, 200)}`)));
      runs.look();
    },
  });
  return () => runs.close();
}
