// One question as a card: the agent, the exact call, its effects, and the answers to similar calls.

import { get } from "./api.js";
import { button, h, put } from "./dom.js";
import { difference } from "./diff.js";
import { coloured, graveParts } from "./highlight.js";
import { ago, code, count, duration, isOdd, named, plain, shown, stakes, tier, told } from "./text.js";
import { countOf, touched, tree } from "./tree.js";

const SHORT = { longest: 400, lines: 6 };
const SHORTER = { longest: 200, lines: 6 };
const narrow = matchMedia("(max-width: 720px)"); // on a narrow screen the list of operations starts closed, so that the buttons are near
const FEW = 6;
const STAY = 100;
const COMMANDS = ["command", "input", "cmd", "CommandLine", "commandLine"];

// The name of the input field with the command; undefined if several fields could be it.
export function commandField({ toolInput }) {
  const found = COMMANDS.filter((name) => Object.hasOwn(toolInput, name));
  const only = found.length === 1 && !Object.hasOwn(toolInput, "args");
  return only && typeof toolInput[found[0]] === "string" ? found[0] : undefined;
}

// The command of a shell call if it is one string; null for other tools.
export function commandOf(question) {
  const field = commandField(question);
  const runs = question.operations?.some((each) => each.kind === "command.execute") || !question.operations?.length;
  return field && runs ? question.toolInput[field] : null;
}

// The other input fields of a call: a card shows all of them.
function besides(question) {
  const { [commandField(question)]: _, ...rest } = question.toolInput;
  return rest;
}

export function makeCard(question, inbox) {
  const element = h("li", { class: "card", id: `q-${question.id}`, tabindex: "-1", "data-id": question.id });
  element.addEventListener("click", (event) => {
    if (!event.target.closest("button, input, select, textarea, a, label")) inbox.choose(question.id);
  });
  return { question, element, state: { busy: false, error: "", form: null } };
}

export function drawCard(card, inbox) {
  const { question, element, state } = card;
  const open = inbox.current === question.id;
  element.className = `card ${question.tier}${open ? " open" : ""}${state.busy ? " busy" : ""}`;
  element.setAttribute("aria-busy", String(state.busy));
  element.setAttribute("aria-label", plain(spoken(question)));
  if (open) element.setAttribute("aria-current", "true");
  else element.removeAttribute("aria-current");
  const focused = element.contains(document.activeElement) && document.activeElement !== element;
  put(element, header(card, inbox), open ? whole(card) : brief(card), problem(state), state.form ? state.form.element : actions(card, inbox, open));
  if (focused && !state.form) element.focus({ preventScroll: true });
}

// What a screen reader reads when the card gets the focus.
function spoken(question) {
  const what = question.command || inputText(question);
  return `${question.agentId || "an agent"} asks: ${question.toolName}, ${grave(question)}: ${what.slice(0, SHORT.longest)}${what.length > SHORT.longest ? " … and more" : ""}. ${reasonOf(question)}`;
}

// The tier and the stakes in words. A pending question is never called safe.
const grave = ({ tier: name, stakes: at = [] }) => [name === "safe" ? "asked" : name, ...at].join(", ");

function header({ question }, inbox) {
  const box = h("input", { type: "checkbox", "aria-label": plain(`Select the question of ${question.agentId}`), onchange: (event) => inbox.select(question.id, event.target.checked) });
  box.checked = inbox.selected.has(question.id);
  return h(
    "div",
    { class: "head" },
    h("label", { class: "tick" }, box),
    h("strong", { class: "who" }, told(question.agentId || "an agent")),
    inbox.who.userId === question.userId ? null : h("span", { class: "quiet" }, "for ", told(question.userId)),
    h("span", { class: "tool" }, told(question.toolName)),
    tier(question.tier),
    stakes(question.stakes),
    question.kind === "policy-deny-override" ? h("span", { class: "tag" }, "denied before") : null,
    question.callerGone ? h("span", { class: "tag" }, "the agent stopped waiting; a yes applies when it retries") : null,
    h("span", { class: "clock quiet" }, clockText(question)),
  );
}

export function clockText(question) {
  const left = (question.expiresAt - Date.now()) / 1000;
  return `waiting ${duration((Date.now() - question.timestamp) / 1000)} · ${left > 0 ? `expires in ${duration(left)}` : "expires now"}`;
}

function brief({ question }) {
  const text = commandOf(question);
  if (text === null) return [why(question), h("div", { class: "input" }, code(inputText(question), SHORT))];
  const rest = besides(question);
  const more = Object.keys(rest).length ? code(inputText({ toolInput: rest }), SHORTER) : null;
  return [why(question), h("div", { class: "input" }, code(text, { ...SHORT, ...coloursOf(question) }), more)];
}

// The permissions API puts the tier in front of the classifier's reason; the card shows the tier elsewhere.
const reasonOf = ({ reason, rules = [] }) => (rules.length ? reason : reason.replace(/^(Safe|Dangerous|Destructive) (command|tool): /, ""));

// Why the call needs approval. A rule's reason is quoted: its author may be a repository, not Assent.
function why(question) {
  const [reason, rules = []] = [reasonOf(question), question.rules];
  const words = rules.length ? ["“", told(reason), "” ", h("span", { class: "quiet" }, "says a rule: ", rules.map((rule) => [named(rule), " "]))] : told(reason);
  return h("p", { class: "why" }, words);
}

const coloursOf = (question, explain) => ({
  render: (text, start, end) => coloured(text, question.operations, { start, end, cwd: question.cwd, explain }),
  grave: (text) => graveParts(text, question.operations, question.cwd),
});

function inputText({ toolInput }) {
  return Object.entries(toolInput).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join("\n");
}

function whole({ question }) {
  const explanation = h("p", { class: "explained", role: "status", hidden: true });
  const explain = (operation) => {
    explanation.hidden = false;
    put(explanation, operation.tier === "safe" ? null : tier(operation.tier), " ", h("code", {}, told(operation.resource)), " ", told(operation.reason));
  };
  const operations = question.operations || [];
  return [
    why(question),
    subject(question, explain),
    explanation,
    warnings(question),
    facts(question, operations),
    operations.length > 1 ? h("details", { class: "doing", open: operations.length <= 12 && !narrow.matches }, h("summary", {}, `What it would do (${count(countOf(operations), "operation")})`), tree(operations)) : null,
    earlier(question),
  ];
}

function subject(question, explain) {
  const text = commandOf(question);
  if (text !== null) return h("div", { class: "input" }, code(text, coloursOf(question, explain)), rows(besides(question)));
  const input = question.toolInput;
  if (typeof input.old_string === "string" && typeof input.new_string === "string") {
    const { old_string: before, new_string: after, ...rest } = input;
    return h("div", { class: "input" }, rows(rest), difference(before, after));
  }
  return h("div", { class: "input" }, rows(input));
}

function rows(input) {
  return Object.entries(input).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    return h("div", { class: "named" }, h("span", { class: "quiet" }, shown(name)), code(text));
  });
}

function warnings(question) {
  const text = inputText(question);
  return [
    isOdd(text) ? h("p", { class: "notice warn" }, "Contains invisible characters; they are escaped above.") : null,
    question.unreadable ? h("p", { class: "notice warn" }, "Contains a part that Assent doesn't analyse: ", told(question.unreadable)) : null,
    question.destructive ? h("p", { class: "notice bad" }, "This can't be undone. ", told(question.impactScope || ""), question.rollbackAdvice ? [" To undo: ", told(question.rollbackAdvice)] : null) : null,
  ];
}

function facts(question, operations) {
  const outside = (path) => question.workspace?.length && path.startsWith("/") && !question.workspace.some((root) => path === root || path.startsWith(`${root}/`));
  const touching = touched(operations).map(([label, found]) => [
    label,
    found.slice(0, FEW).map((each) => h("div", {}, named(each.resource, { class: each.tier, title: plain(each.reason) }), outside(each.resource) ? h("small", { class: "warn" }, " outside the workspace") : null)).concat(found.length > FEW ? [`and ${found.length - FEW} more, below`] : []),
  ]);
  const rows = [
    ["In", question.cwd ? named(question.cwd) : "working directory unknown"],
    ...touching,
    ["Sandbox", question.boundary ? h("code", {}, question.boundary) : null],
    ["Session", h("a", { href: `/sessions?id=${encodeURIComponent(question.sessionId)}`, "data-to": true }, told(question.sessionId))],
  ];
  return h("dl", { class: "facts" }, rows.filter(([, value]) => value).map(([label, value]) => [h("dt", {}, label), h("dd", {}, value)]));
}

const MOST_EARLIER = 8;
const ENDS = { approved: "allowed", rejected: "denied" };

function earlier(question) {
  const box = h("div", { class: "earlier" }, h("p", { class: "quiet" }, "Loading earlier answers…"));
  // Always one line, so that the buttons below do not move under the pointer.
  const show = (found) => put(box, found.length ? h("details", {}, h("summary", {}, `Answered before${found.length < MOST_EARLIER ? "" : `, the latest ${found.length}`}: ${summed(found)}`, latest(found[0])), h("ul", { class: "plainlist" }, found.map(answered))) : h("p", { class: "quiet" }, "No similar question was asked before."));
  const look = async () => {
    if (!box.isConnected) return;
    try {
      question.similar = (await get(`/api/permissions/${encodeURIComponent(question.id)}/similar`)).similar;
      show(question.similar);
    } catch {
      put(box, h("p", { class: "quiet" }, "Can't load earlier answers."));
    }
  };
  // Wait a little: moving quickly through many cards must not send a request for each.
  if (question.similar) show(question.similar);
  else setTimeout(look, STAY);
  return box;
}

function summed(found) {
  const yes = found.filter((each) => each.status === "approved").length;
  return [yes ? `${yes} × allowed` : "", found.length - yes ? `${found.length - yes} × denied` : ""].filter(Boolean).join(", ");
}

const latest = ({ status, feedback, resolvedAt }) => h("span", { class: "quiet" }, ` · last ${ENDS[status]} ${ago(resolvedAt)}`, feedback ? [" “", told(feedback), "”"] : null);

function answered(each) {
  const scope = each.scope && each.scope !== "once" ? `, ${each.scope}` : "";
  return h("li", {}, h("span", { class: `verdict ${each.status === "approved" ? "allow" : "deny"}` }, `${ENDS[each.status]}${scope}`), " ", h("code", {}, told(each.command.slice(0, 160)), each.command.length > 160 ? "…" : null), h("span", { class: "quiet" }, ` ${each.same ? "the same call · " : ""}${ago(each.resolvedAt)}`), each.feedback ? h("span", { class: "quiet" }, " “", told(each.feedback), "”") : null);
}

function problem(state) {
  return state.error ? h("p", { class: "notice bad", role: "alert" }, told(state.error)) : null;
}

function actions({ question, state }, inbox, open) {
  const act = (label, kind, key, action) => button(label, { key, kind, disabled: state.busy, onclick: () => inbox.act(question.id, action) });
  if (!open) return h("div", { class: "actions" }, act("Allow once", "good", null, "once"), act("Deny", "", null, "deny"));
  return h(
    "div",
    { class: "actions" },
    act("Allow once", "good", "a", "once"),
    act("This session", "", "s", "session"),
    act("Always or until …", "", "w", "wider"),
    h("span", { class: "gap" }),
    act("Deny", "refuse", "d", "deny"),
    act("Deny, say why …", "", "f", "feedback"),
    act("Edit …", "", "e", "edit"),
  );
}
