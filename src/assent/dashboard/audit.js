// The audit log: search, page through, verify and export it.

import { get, post, withQuery } from "./api.js";
import { button, debounce, h, put, redraw, select } from "./dom.js";
import { heads, line } from "./record.js";
import { count, told } from "./text.js";

const PAGE = 60;
const any = (what) => [["", `any ${what}`]];
const plainly = (words) => words.map((word) => [word, word]);
const CHOICES = {
  verdict: [...any("verdict"), ...plainly(["allow", "ask", "deny"])],
  tier: [...any("tier"), ...plainly(["safe", "dangerous", "destructive"])],
  source: [...any("source"), ...plainly(["rule", "mode", "classifier", "protection", "path_policy", "session", "grant", "tool_check", "hook", "host_policy", "person", "expiry", "sandbox", "not_interactive", "error"])],
  type: [...any("event"), ...plainly(["permission.evaluated", "permission.requested", "permission.resolved", "grant.created", "grant.revoked", "destructive.enabled", "destructive.revoked", "sandbox.applied", "sandbox.violation", "tool.started", "tool.result", "tool.failed", "tool.progress", "process.started", "process.completed", "process.failed", "process.terminated", "process.output", "hook.started", "hook.completed", "hook.failed", "run.status", "policy.changed", "token.created", "token.revoked", "daemon.started", "daemon.stopped", "evidence.changed", "runtime.warning", "runtime.error"])],
  span: [["", "any time"], ["3600", "the last hour"], ["86400", "the last day"], ["604800", "the last 7 days"], ["2592000", "the last 30 days"], ["between", "between …"]],
};
const NAMES = ["text", "agent", "tool", "verdict", "tier", "source", "type", "session", "approval", "span", "from", "to"];

export function mount(main, { who }) {
  const given = Object.fromEntries(new URLSearchParams(location.search));
  const controls = {};
  const make = (name, label, control) => {
    controls[name] = control;
    control.setAttribute("aria-label", label);
    control.value = given[name] || "";
    control.addEventListener("input", control.tagName === "SELECT" ? search : later);
    return control;
  };
  const text = (name, label) => make(name, label, h("input", { type: name === "text" ? "search" : "text", placeholder: label, spellcheck: "false" }));
  const choice = (name, label) => make(name, label, select(CHOICES[name], ""));
  const later = debounce(150, () => search());
  const moment = (name, label) => make(name, label, h("input", { type: "datetime-local", step: "1" }));
  const between = h("div", { class: "between", hidden: true }, h("label", {}, "from ", moment("from", "From when")), h("label", {}, "to ", moment("to", "Until when")));
  const rows = h("tbody");
  const state = h("p", { class: "quiet", role: "status" });
  const older = button("Older records", { kind: "plain", hidden: true, onclick: () => next() });
  const more = h("div", { class: "more" }, older);
  const exporting = h("a", { class: "button", href: "/api/audit/export", download: "assent-log.jsonl" }, "Export");
  const proof = h("div", { class: "proof" });
  put(
    main,
    h("div", { class: "title wide" }, h("h1", {}, "Audit"), state, h("span", { class: "gap" }), exporting, who.role === "admin" ? button("Verify", { onclick: () => verify(proof) }) : null),
    h("div", { class: "wide" }, proof),
    h("div", { class: "filters wide", role: "search" }, text("text", "Text in the call or the reason"), text("agent", "Agent"), text("tool", "Tool"), choice("verdict", "Verdict"), choice("tier", "Tier"), choice("source", "Source"), choice("type", "Event"), choice("span", "Time"), between, button("Clear", { kind: "plain", onclick: clear })),
    h("div", { class: "table wide" }, h("table", {}, h("caption", { class: "unseen" }, "Records, newest first"), h("thead", {}, heads()), rows)),
    more,
  );
  controls.text.classList.add("first");
  let running;
  let cursor;
  let found = 0;
  const watcher = new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && cursor && next(), { rootMargin: "400px" });
  watcher.observe(more);

  function clear() {
    for (const control of Object.values(controls)) control.value = "";
    delete given.session;
    delete given.approval;
    search();
  }

  function query() {
    const filled = NAMES.map((name) => [name, controls[name]?.value ?? given[name]]).filter(([, value]) => value);
    const { span, from, to, ...rest } = Object.fromEntries(filled);
    between.hidden = span !== "between";
    const [since, until] = between.hidden ? [span && Date.now() - Number(span) * 1000] : [from, to].map((at) => at && Date.parse(at));
    return { shown: Object.fromEntries(filled), asked: { ...rest, since: since && Math.floor(since / 1000), until: until && Math.ceil(until / 1000) } };
  }

  async function search() {
    running?.abort();
    running = null;
    cursor = undefined;
    found = 0;
    const { shown, asked } = query();
    history.replaceState(null, "", withQuery("/audit", shown));
    exporting.href = withQuery("/api/audit/export", asked);
    await next(true);
  }

  async function next(fresh = false) {
    if (running && !fresh) return;
    const mine = (running = new AbortController());
    put(state, "Loading…");
    try {
      const page = await get("/api/audit", { ...query().asked, brief: "true", limit: PAGE, cursor }, mine.signal);
      if (mine !== running) return;
      const lines = page.events.map((event) => line(event));
      if (fresh) redraw(rows, () => lines);
      else rows.append(...lines);
      cursor = page.cursor;
      found += page.events.length;
      put(state, cursor ? `the newest ${found.toLocaleString("en")}` : found ? count(found, "record") : "No records found.");
      if (!cursor && document.activeElement === older) rows.lastElementChild?.querySelector("button").focus();
      older.hidden = !cursor;
    } catch (error) {
      if (error.name !== "AbortError") put(state, h("span", { class: "bad" }, error.message));
    } finally {
      if (mine === running) running = null;
    }
  }

  search();
  return () => {
    running?.abort();
    watcher.disconnect();
  };
}

async function verify(place) {
  const bar = h("progress", { max: "1", value: "0", "aria-label": "How much of the log is verified" });
  const words = h("span", {}, "Verifying…");
  put(place, h("p", { class: "notice row" }, bar, words));
  try {
    let progress = await post("/api/audit/verify", {});
    while (progress.state === "running") {
      bar.max = progress.total || 1;
      bar.value = progress.done || 0;
      put(words, progress.total ? `${(progress.done || 0).toLocaleString("en")} of ${count(progress.total, "record")}` : "Starting…");
      await new Promise((done) => setTimeout(done, 150));
      progress = await get("/api/audit/verify");
    }
    put(place, outcome(progress));
  } catch (error) {
    put(place, h("p", { class: "notice bad", role: "alert" }, error.message));
  }
}

function outcome({ report, error }) {
  if (!report) return h("p", { class: "notice bad", role: "alert" }, `Verification failed: ${error}`);
  if (report.ok) {
    const sealed = `${count(report.checkpoints, "seal")} and ${count(report.anchors, "anchor")} valid, up to position ${report.sealed}.`;
    return h("p", { class: "notice good", role: "status" }, `${count(report.events, "record")} verified, none was changed. ${sealed}`);
  }
  if (!report.broken) return h("p", { class: "notice bad", role: "alert" }, "The log is not verified: no record is wrong, but not all of them are proven. ", report.unsealed.length ? "A writer has records without a seal." : "The key of a writer comes only from the database.");
  const { what, position } = report.broken;
  return h("p", { class: "notice bad", role: "alert" }, "The log was changed: ", told(what), position ? ` (position ${position})` : null);
}
