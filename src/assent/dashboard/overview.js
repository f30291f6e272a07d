// Statistics: decisions over time, how often people are asked, how fast they answer, and candidates for rules.

import { ruleFor } from "./answers.js";
import { get } from "./api.js";
import { bars, share } from "./chart.js";
import { button, h, put, renew, select } from "./dom.js";
import { openRecord } from "./record.js";
import { duration, plain, time, told } from "./text.js";

const figure = (value, label, hint) => h("div", { class: "figure" }, h("strong", {}, value), h("span", {}, label), hint ? h("small", {}, hint) : null);

// Propose a rule from the words of a command, split at blanks. The user tries it before writing it.
function propose({ tool, begins, example }) {
  if (tool !== "Bash") return tool;
  return begins.includes(" ") ? `Bash(${begins}:*)` : ruleFor(example.split(/\s+/));
}

function asked(found, go) {
  if (!found.mostAsked.length) return h("p", { class: "quiet" }, "No questions in this period.");
  const most = found.mostAsked[0].count;
  const rows = found.mostAsked.map((each) =>
    h("tr", {}, h("td", { class: "said" }, h("code", {}, told(each.begins)), share(each.count, most)), h("td", { class: "number" }, each.count), h("td", { class: "number" }, `${Math.round((each.allowed / each.count) * 100)} %`), h("td", {}, button("Propose a rule", { kind: "plain", "aria-label": `Propose a rule for ${plain(each.begins)}`, onclick: () => go(`/policy?tab=draft&rule=${encodeURIComponent(propose(each))}`) }))),
  );
  return h("div", { class: "table" }, h("table", {}, h("thead", {}, h("tr", {}, ["Command", "Asked", "Allowed", ""].map((name) => h("th", { scope: "col" }, name || h("span", { class: "unseen" }, "Action"))))), h("tbody", {}, rows)));
}

function stopped({ latestViolations, violations }) {
  if (!violations) return h("p", { class: "quiet" }, "No sandbox violations.");
  return h("ul", { class: "plainlist" }, latestViolations.map((each) => h("li", {}, button(time(each.at), { kind: "plain when", onclick: () => openRecord(each.position) }), " ", told(each.agent), " ", h("code", {}, told(each.text || "a violation")))));
}

export function mount(main, { go }) {
  const days = select([["1", "the last day"], ["7", "the last 7 days"], ["30", "the last 30 days"], ["365", "the last year"]], "7", { "aria-label": "How far back" });
  const body = h("div", { class: "stack" }, h("p", { class: "quiet" }, "Loading…"));
  put(main, h("div", { class: "title" }, h("h1", {}, "Overview"), h("span", { class: "gap" }), days), body);
  const show = async () => {
    try {
      const [found, now] = await Promise.all([get("/api/stats/history", { days: days.value }), get("/api/stats")]);
      const rate = found.calls ? ((found.asked / found.calls) * 100).toFixed(found.asked / found.calls < 0.1 ? 1 : 0) : "0";
      const expired = (found.answers.expired || 0) + (found.answers.cancelled || 0);
      renew(body, [found, now.policyFault], () => [
        now.policyFault ? h("p", { class: "notice bad" }, "A policy file is invalid; the previous rules stay in force: ", told(now.policyFault)) : null,
        h("div", { class: "figures4" }, figure(found.calls.toLocaleString("en"), "calls decided"), figure(rate, "questions per hundred calls"), figure(found.answerMedian === undefined ? "–" : duration(found.answerMedian), "median time to an answer", found.answerSlow === undefined ? null : `one in ten over ${duration(found.answerSlow)}`), figure(found.violations.toLocaleString("en"), "sandbox violations"), figure(expired.toLocaleString("en"), "unanswered questions")),
        h("section", { class: "panel" }, h("h2", {}, "Decisions over time"), bars(found.points, found.seconds, "Decisions over time, by verdict")),
        h("section", { class: "panel" }, h("h2", {}, "Asked most often"), asked(found, go)),
        h("section", { class: "panel" }, h("h2", {}, "Sandbox violations"), stopped(found)),
      ]);
    } catch (error) {
      put(body, h("p", { class: "notice bad", role: "alert" }, error.message));
    }
  };
  days.addEventListener("change", show);
  show();
  const timer = setInterval(() => document.visibilityState === "visible" && show(), 60000);
  return () => clearInterval(timer);
}
