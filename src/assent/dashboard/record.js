// One record of the audit log: the decision, its rules and opinions, and its place in the hash chain.

import { get } from "./api.js";
import { button, h, put, showDialog } from "./dom.js";
import { code, count, shown, stakes, tier, time, told, verdict } from "./text.js";
import { tree } from "./tree.js";

// All opinions about a call, with why the overruled ones lost.
export function opinions(decision) {
  const rank = { allow: 0, ask: 1, deny: 2 };
  const rows = decision.opinions.map((each) => {
    const lost = each.overruled ? `overruled: ${each.overruled}` : rank[each.verdict] < rank[decision.verdict] ? `outweighed by the ${decision.verdict}` : "";
    return h(
      "li",
      { class: lost ? "lost" : null },
      verdict(each.verdict),
      each.firm ? " firmly" : null,
      " ",
      h("strong", {}, each.policy),
      each.certainty === "maybe" ? " (may match)" : null,
      " ",
      told(each.reason),
      each.rule ? [" ", h("code", {}, told(each.rule))] : null,
      lost ? h("span", { class: "quiet" }, ` (${lost})`) : null,
    );
  });
  return rows.length ? h("ul", { class: "plainlist" }, rows) : h("p", { class: "quiet" }, "No rule applied.");
}

const rule = (text) => h("li", {}, h("code", {}, told(text)));

// A whole decision as a section of a page.
export function decided(decision) {
  const word = wordOf(decision);
  return [
    h("p", { class: "ruling" }, verdict(word), " ", tier(decision.reading.tier, { decision: word, source: decision.decision_source }), " ", stakes(decision.stakes), " ", told(decision.decision_reason)),
    h("h3", {}, "What it would do"),
    tree(decision.reading.operations),
    decision.reading.unreadable ? h("p", { class: "notice warn" }, "Contains a part that Assent doesn't analyse: ", told(decision.reading.unreadable)) : null,
    decision.rule_refs.length ? [h("h3", {}, "Rules that decided"), h("ul", { class: "plainlist" }, decision.rule_refs.map(rule))] : null,
    h("h3", {}, "Opinions"),
    opinions(decision),
    h("p", { class: "quiet" }, `Decided by ${decision.decision_source}, mode ${decision.mode}, policy ${decision.policy_version}`, decision.boundary ? [", inside ", h("code", {}, decision.boundary.name)] : null, "."),
  ];
}

export function wordOf(decision) {
  if (decision.verdict !== "allow") return decision.verdict;
  if (decision.available === false) return "unavailable";
  return decision.boundary ? "sandboxed" : "allow";
}

function chain(event, link) {
  const sealed = link.sealedAt ? ["sealed ", time(link.sealedAt), `, with record ${link.sealedBy} of its writer`] : "not sealed yet";
  return [
    h("h3", {}, "Place in the hash chain"),
    h("p", { class: link.holds ? "notice good" : "notice bad" }, link.holds ? "The hash matches the previous record." : "The hash does NOT match the previous record: the log was changed."),
    facts([["Position", `${event.position}, number ${event.seq} of writer ${event.writer}`], ["Seal", sealed], ["Hash", h("code", {}, event.hash)], ["Previous hash", h("code", {}, link.previous)]]),
  ];
}

export const facts = (rows) => h("dl", { class: "facts" }, rows.filter(([, value]) => value).map(([label, value]) => [h("dt", {}, label), h("dd", {}, value)]));

function payloadRows(payload) {
  return Object.entries(payload).map(([name, value]) => [name, typeof value === "string" ? h("code", {}, shown(value)) : h("code", {}, shown(JSON.stringify(value)))]);
}

export async function openRecord(position) {
  const body = h("div", { class: "sheetbody" }, h("p", { class: "quiet" }, "Loading…"));
  const box = h("dialog", { class: "sheet", "aria-label": `Record ${position}` }, h("div", { class: "title" }, h("h2", {}, `Record ${position}`), h("span", { class: "gap" }), button("Close", { kind: "plain", key: "Esc", onclick: () => box.close() })), body);
  showDialog(box);
  try {
    const { event, chain: link } = await get(`/api/audit/${position}`);
    const { payload = {}, permissionDecision, violation, sandboxProfile } = event.body;
    put(
      body,
      facts([["When", time(event.at * 1000)], ["What", event.type], ["Agent", event.agent ? told(event.agent) : null], ["User", event.user ? told(event.user) : null], ["Session", event.session ? h("a", { href: `/sessions?id=${encodeURIComponent(event.session)}`, onclick: () => box.close() }, told(event.session)) : null]]),
      payload.summary ? code(String(payload.summary)) : null,
      permissionDecision ? decided(permissionDecision) : facts(payloadRows(payload)),
      violation ? [h("h3", {}, "Violation"), facts(payloadRows(violation))] : null,
      sandboxProfile ? [h("h3", {}, "Sandbox"), facts(payloadRows(sandboxProfile))] : null,
      chain(event, link),
      h("details", {}, h("summary", {}, `The whole record (${count(JSON.stringify(event.body).length, "character")})`), code(JSON.stringify(event.body, null, 2), { longest: 20000 })),
    );
  } catch (error) {
    put(body, h("p", { class: "notice bad", role: "alert" }, error.message));
  }
}

// One row of the table of records.
export function line(event, show = openRecord) {
  const at = h("button", { type: "button", class: "plain when", "aria-label": `Record ${event.position}`, onclick: () => show(event.position) }, time(event.at * 1000));
  const cells = [h("td", {}, at), h("td", { class: "quiet name" }, told(event.agent)), h("td", { class: "mono" }, told(event.tool)), h("td", { class: "name" }, event.verdict ? verdict(event.verdict) : h("span", { class: "quiet" }, event.type.replace(/^permission\./, "").replace(".", " "))), h("td", {}, event.tier ? tier(event.tier, { decision: event.verdict, source: event.source }) : null), h("td", { class: "said" }, h("code", {}, told(event.text.slice(0, 300)), event.text.length > 300 ? "…" : null))];
  return h("tr", { onclick: (click) => !click.target.closest("button, a") && show(event.position) }, cells);
}

export const heads = () => h("tr", {}, ["Time", "Agent", "Tool", "What", "Tier", "Call and reason"].map((name) => h("th", { scope: "col" }, name)));
