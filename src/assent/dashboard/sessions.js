// The sessions of the agents: the list with each one's latest call, and the timeline of one session.

import { get } from "./api.js";
import { button, h, put, renew } from "./dom.js";
import { heads, line } from "./record.js";
import { drawRun, runCard } from "./runs.js";
import { ago, count, time, told } from "./text.js";

const FRESH = 120000;
const LOOK = 4000;
const PAGE = 60;

export function mount(main, { live, go }) {
  const wanted = new URLSearchParams(location.search).get("id");
  return wanted ? timeline(main, wanted, { live, go }) : listing(main, { live });
}

function summary(session, waiting, active) {
  return h(
    "li",
    { class: "card session" },
    h("div", { class: "head" }, h("span", { class: `dot ${active ? "good" : "quiet"}`, "aria-hidden": "true" }), h("strong", {}, h("a", { href: `/sessions?id=${encodeURIComponent(session.id)}` }, told(session.agentId))), h("span", { class: "quiet" }, told(session.id)), waiting ? h("a", { class: "verdict ask", href: "/" }, `waiting for ${count(waiting, "answer")}`) : h("span", { class: "quiet" }, active ? "active" : "idle"), h("span", { class: "clock quiet", "data-since": session.lastAt }, `last ${ago(session.lastAt)}`)),
    h("code", { class: "code oneline" }, told(session.text || "–")),
    h("p", { class: "tally quiet" }, h("span", {}, `${session.allow} allowed`), h("span", {}, `${session.ask} asked`), h("span", {}, `${session.deny} denied`), session.violations ? h("span", { class: "bad" }, count(session.violations, "violation")) : null, h("span", {}, told(`for ${session.userId}`))),
  );
}

function listing(main, { live }) {
  const list = h("ol", { class: "cards", "aria-label": "Sessions" });
  const state = h("p", { class: "quiet", role: "status" }, "Loading…");
  const running = h("ol", { class: "cards", "aria-label": "Runs" });
  put(main, h("div", { class: "title" }, h("h1", {}, "Sessions"), state), running, list);
  const show = async () => {
    try {
      const [{ sessions }, { runs }] = await Promise.all([get("/api/sessions", { days: 7 }), get("/api/runs")]);
      renew(running, runs, () => runs.map((run) => runCard(run, show)));
      const waiting = new Map();
      for (const question of live.questions.values()) waiting.set(question.sessionId, (waiting.get(question.sessionId) || 0) + 1);
      const fresh = (session) => Date.now() - session.lastAt < FRESH;
      renew(list, [sessions, [...waiting], sessions.map(fresh)], () => sessions.map((session) => summary(session, waiting.get(session.id) || 0, fresh(session))));
      for (const clock of main.querySelectorAll("[data-since]")) clock.textContent = clock.textContent.replace(/ .*/, ` ${ago(Number(clock.dataset.since))}`);
      put(state, sessions.length ? `${count(sessions.length, "session")} in the last 7 days` : "No sessions in the last 7 days");
    } catch (error) {
      put(state, h("span", { class: "bad" }, error.message));
    }
  };
  show();
  const timer = setInterval(() => document.visibilityState === "visible" && show(), LOOK);
  return () => clearInterval(timer);
}

function timeline(main, id, { live }) {
  const rows = h("tbody");
  const state = h("p", { class: "quiet", role: "status" });
  const waiting = h("div", { class: "part-of wide" });
  const run = h("div", { class: "part-of wide" });
  let isRun = true;
  const older = button("Older records", { kind: "plain", hidden: true, onclick: () => guard(look) });
  let newest = 0;
  let cursor;
  // Hidden until everything above it has loaded, so that it does not move.
  const table = h("div", { class: "table wide", hidden: true }, h("table", {}, h("caption", { class: "unseen" }, "Records of this session, newest first"), h("thead", {}, heads()), rows));
  put(main, h("div", { class: "title wide" }, h("h1", {}, told(id)), state, h("span", { class: "gap" }), h("a", { class: "button", href: `/audit?session=${encodeURIComponent(id)}` }, "In the audit log"), h("a", { class: "button", href: "/sessions" }, "All sessions")), run, waiting, table, h("div", { class: "more" }, older));
  const look = async () => {
    const page = await get("/api/audit", { session: id, brief: "true", limit: PAGE, cursor });
    rows.append(...page.events.map((event) => line(event)));
    newest ||= page.events[0]?.position || 0;
    cursor = page.cursor;
    if (!cursor && document.activeElement === older) rows.lastElementChild?.querySelector("button").focus();
    older.hidden = !cursor;
    if (!page.events.length && !newest) put(state, "No records of this session");
  };
  const newer = async () => {
    isRun &&= await drawRun(run, id);
    const page = await get("/api/audit", { session: id, brief: "true", limit: PAGE });
    const fresh = page.events.filter((event) => event.position > newest);
    rows.prepend(...fresh.map((event) => line(event)));
    newest = page.events[0]?.position || newest;
    const [last] = page.events;
    if (last) put(state, told(`${last.agent || "an agent"} for ${last.user}, last `), time(last.at * 1000));
    const open = [...live.questions.values()].filter((question) => question.sessionId === id);
    table.hidden = !newest;
    renew(waiting, open.length, () => (open.length ? h("p", { class: "notice warn" }, `Waiting for ${count(open.length, "answer")}. `, h("a", { href: "/" }, "Go to the inbox")) : []));
  };
  const guard = (work) => work().catch((error) => put(state, h("span", { class: "bad" }, error.message)));
  guard(() => Promise.all([look(), live.known()])).then(() => guard(newer));
  const timer = setInterval(() => document.visibilityState === "visible" && guard(newer), LOOK);
  return () => clearInterval(timer);
}
