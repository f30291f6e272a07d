// The daemon's runs: their status, the policies of their tools, and a button to stop them.

import { get, remove } from "./api.js";
import { button, h, renew, toast } from "./dom.js";
import { ago, plain, told } from "./text.js";

const GOING = ["pending", "running"];
const KINDS = { pending: "ask", running: "ask", completed: "allow", error: "deny", cancelled: "deny" };

export function runCard(run, look) {
  const stop = async ({ currentTarget: pressed }) => {
    if (pressed.ariaDisabled) return; // not `disabled`, which would lose the focus
    pressed.ariaDisabled = "true";
    await remove(`/api/runs/${encodeURIComponent(run.runId)}`).catch((error) => toast(error.message, { bad: true }));
    look();
  };
  return h(
    "li",
    { class: "card session" },
    h("div", { class: "head" }, h("strong", {}, h("a", { href: `/sessions?id=${encodeURIComponent(run.runId)}` }, told(run.strategyName || run.runId))), h("span", { class: "quiet" }, told(run.runId)), h("span", { class: `verdict ${KINDS[run.status]}` }, run.status), h("span", { class: "clock quiet", "data-since": Date.parse(run.startedAt || run.createdAt) }, `started ${ago(Date.parse(run.startedAt || run.createdAt))}`), GOING.includes(run.status) ? button("Stop", { kind: "refuse", "aria-label": `Stop ${plain(run.strategyName || run.runId)}, ${plain(run.runId)}`, onclick: stop }) : null),
    h("p", { class: "quiet" }, "in ", h("code", {}, told(run.cwd))),
    run.error ? h("p", { class: "notice bad" }, told(run.error)) : null,
  );
}

// Each tool with the policies that decide about its calls.
function chains(guards) {
  const rows = guards.map(({ tool, policies }) => [h("dt", {}, h("code", {}, told(tool))), h("dd", {}, policies.map(({ name }) => [h("span", { class: "tag" }, told(name)), " "]))]);
  return rows.length ? [h("h3", {}, "Policies of its tools"), h("dl", { class: "facts guards" }, rows)] : h("p", { class: "quiet" }, "The run has ended; each decision in the audit log lists the policies that applied.");
}

// Show a run above its timeline; return false if the id is not a run's, so that the caller stops asking.
export async function drawRun(place, id) {
  try {
    const { run, guards } = await get(`/api/runs/${encodeURIComponent(id)}`);
    renew(place, [run, guards], () => h("section", { class: "panel wide", "aria-label": "The run" }, h("ul", {}, runCard(run, () => drawRun(place, id))), chains(guards)));
  } catch (error) {
    if (error.status === 404) return false;
    throw error;
  }
  return true;
}
