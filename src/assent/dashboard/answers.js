// The forms for longer answers: allow more than this call, deny with feedback, edit and allow.

import { get, parse, post } from "./api.js";
import { button, debounce, field, h, put, select, showDialog } from "./dom.js";
import { commandField, commandOf } from "./card.js";
import { difference } from "./diff.js";
import { code, count, isOdd, named, shown, tier, told, verdict } from "./text.js";

const DAYS = 14;
const PLAIN = /^[a-z][a-z0-9-]*$/;
const DEEPER = ["run", "compose", "exec", "remote", "stash", "config"];
const QUOTED = /[^\w@%+=:,./-]/;
const UNKNOWN = "\ufdd0";
const EVERYTHING = /^[\w-]+(\([:\s*]*\))?$/;

const quote = (word) => (QUOTED.test(word) || !word ? `'${word.replaceAll("'", "'\\''")}'` : word);

// A rule for one command: its program and subcommand, or exactly these words if it has none.
export function ruleFor(argv) {
  const plain = [];
  for (const word of argv.slice(1)) {
    if (!PLAIN.test(word)) break;
    plain.push(word);
    if (!DEEPER.includes(word)) break;
  }
  return plain.length ? `Bash(${[argv[0], ...plain].map(quote).join(" ")}:*)` : `Bash(${argv.map(quote).join(" ")})`;
}

// Propose a pattern for a wider answer; the user edits it.
export function proposal(question) {
  if (question.proposedPattern) return question.proposedPattern;
  const rank = { destructive: 0, dangerous: 1, safe: 2 };
  const worst = [...(question.operations || [])].sort((a, b) => rank[a.tier] - rank[b.tier]);
  const command = worst.find((each) => each.argv?.length && !each.argv.some((word) => word.includes(UNKNOWN)));
  if (command) return ruleFor(command.argv);
  const found = worst.find((each) => !each.resource.includes(UNKNOWN));
  if (found?.kind === "fs.write") return `Write(${found.resource})`;
  if (found?.kind === "fs.read") return `Read(${found.resource})`;
  if (found?.kind === "net.connect") return `WebFetch(domain:${found.resource})`;
  return question.toolName;
}

function endOfDay() {
  const end = new Date();
  end.setHours(23, 59, 0, 0);
  return Math.max(60, Math.round((end - Date.now()) / 1000));
}

const SPANS = [
  ["always", "always"],
  ["session", "for this session"],
  ["3600", "for an hour"],
  ["14400", "for 4 hours"],
  ["day", "until midnight"],
  ["604800", "for a week"],
  ["at", "until a time …"],
];

function form(label, body, { submit, cancel, done, kind = "good" }) {
  const send = button(done, { kind, key: "Ctrl+Enter", type: "submit" });
  const element = h("form", { class: "answer", "aria-label": label }, body, h("div", { class: "actions" }, send, button("Cancel", { key: "Esc", onclick: cancel })));
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  element.addEventListener("keydown", (event) => {
    if (event.key === "Escape") cancel();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const lock = (busy) => element.querySelectorAll("button, input, select, textarea").forEach((each) => (each.disabled = busy));
  return { element, lock };
}

// Show, while the user types, how many calls of the last days the rule would have covered.
export function liveCount(where, read) {
  let running;
  const ask = async () => {
    running?.abort();
    running = new AbortController();
    const body = read();
    if (!body.rule.trim()) {
      put(where, "Without a pattern: exactly this call.");
      return;
    }
    try {
      const found = await post("/api/policy/try", { days: DAYS, ...body }, running.signal);
      const all = EVERYTHING.test(found.rule) ? h("p", { class: "notice warn" }, "This covers every call of the tool, except those that can't be undone or always ask.") : null;
      const matched = found.changed ? `This pattern would have answered ${found.changed.toLocaleString("en")} of ${count(found.asked, "question")}` : "This pattern matches nothing, not even this call";
      put(where, all, h("strong", {}, matched), ` (last ${DAYS} days, ${count(found.calls, "call")}${found.whole ? "" : ", only the latest"}).`);
    } catch (error) {
      if (error.name !== "AbortError") put(where, h("span", { class: "bad" }, told(error.message)));
    }
  };
  return { ask, later: debounce(200, ask) };
}

// Workspace files that a call runs outside a sandbox: a standing approval is bound to their content.
function ownPrograms({ operations = [], workspace = [], boundary }) {
  const paths = operations.filter((each) => each.kind === "fs.exec").map((each) => each.target || each.resource);
  return boundary ? [] : [...new Set(paths)].filter((path) => workspace.some((root) => path === root || path.startsWith(`${root}/`)));
}

export function widerForm(question, { submit, cancel }) {
  const pattern = h("input", { type: "text", class: "mono", spellcheck: "false", autocomplete: "off", value: proposal(question) });
  const span = select(SPANS, "always");
  const at = h("input", { type: "datetime-local", "aria-label": "Until when", hidden: true });
  const counted = h("p", { class: "counted", role: "status" }, " ");
  const destructive = h("input", { type: "checkbox" });
  const scope = () => (span.value === "session" ? "session" : "always");
  const counting = liveCount(counted, () => ({ rule: pattern.value, tool: question.toolName, agentId: question.agentId, requestId: question.id, scope: scope(), destructive: destructive.checked }));
  const really = h("div", {});
  const warn = () => put(really, isOdd(pattern.value) ? [h("p", { class: "notice warn" }, "The pattern contains invisible characters. Escaped, it reads:"), code(pattern.value)] : null);
  pattern.addEventListener("input", () => (warn(), counting.later()));
  warn();
  span.addEventListener("change", () => ((at.hidden = span.value !== "at"), counting.later()));
  destructive.addEventListener("change", counting.later);
  const read = () => {
    const body = { scope: scope(), pattern: pattern.value.trim() || undefined };
    if (span.value === "day") body.expiresIn = endOfDay();
    else if (span.value === "at") body.expiresIn = Math.round((new Date(at.value) - Date.now()) / 1000);
    else if (/^\d+$/.test(span.value)) body.expiresIn = Number(span.value);
    if (Number.isNaN(body.expiresIn)) throw Object.assign(new Error("Choose a date and time."), { field: at });
    if (body.expiresIn <= 0) throw Object.assign(new Error("The expiry is in the past."), { field: at });
    if (question.destructive && destructive.checked) body.destructive = true;
    return { decision: body.scope === "always" ? "approve_always" : "approve", ...body };
  };
  const made = form("Allow more than this call", [
    h("div", { class: "fields" }, field("Pattern to allow", pattern, "A rule for this agent and workspace. Leave it empty for exactly this call."), h("div", { class: "stacked top" }, field("How long", span), at)),
    question.destructive ? h("label", { class: "check" }, destructive, " also calls that can't be undone") : null,
    ownPrograms(question).length ? h("p", { class: "quiet" }, "Valid while these workspace programs stay unchanged: ", ownPrograms(question).map((path) => [named(path), " "])) : null,
    really,
    counted,
  ], { submit: () => submit(read), cancel, done: "Allow" });
  counting.ask();
  return { ...made, focus: pattern };
}

export function feedbackForm(_question, { submit, cancel }) {
  const words = h("textarea", { rows: "3", maxlength: "4000", placeholder: "use the staging database instead" });
  const made = form("Deny and say why", [field("Tell the agent why, or what to do instead", words)], {
    submit: () => submit(() => ({ decision: "reject", feedback: words.value.trim() || undefined })),
    cancel,
    done: "Deny",
    kind: "refuse",
  });
  return { ...made, focus: words };
}

export function editForm(question, { submit, cancel }) {
  const command = commandOf(question);
  const before = command ?? JSON.stringify(question.toolInput, null, 2);
  const text = h("textarea", { class: "mono", rows: String(Math.min(16, before.split("\n").length + 1)), spellcheck: "false", value: before });
  const changes = h("div", {}, difference(before, text.value)); // a text field drops some characters, such as a carriage return
  const ruling = h("p", { class: "counted", role: "status" }, " ");
  const judge = debounce(200, () => decideAgain(question, text.value, command !== null && commandField(question), ruling));
  text.addEventListener("input", () => {
    put(changes, difference(before, text.value));
    judge();
  });
  const made = form("Edit and allow", [field(command === null ? "The input, as JSON" : "The command", text), h("span", { class: "quiet" }, "Changes"), changes, ruling], {
    submit: () => submit(() => ({ decision: "approve", modifiedInput: command === null ? parse(text.value) : text.value })),
    cancel,
    done: "Allow as edited",
  });
  return { ...made, focus: text };
}

let deciding;

async function decideAgain(question, text, field, where) {
  deciding?.abort();
  deciding = new AbortController();
  try {
    const input = field ? { ...question.toolInput, [field]: text } : parse(text);
    const body = { toolName: question.toolName, toolInput: input, cwd: question.cwd, agentId: question.agentId };
    const found = await post("/api/decide", body, deciding.signal);
    put(where, "As edited: ", verdict(found.decision), " ", tier(found.tier, found), " ", told(found.reason));
  } catch (error) {
    if (error.name !== "AbortError") put(where, h("span", { class: "bad" }, shown(error.message)));
  }
}

// Say that the question of a form is gone, and show what was written. No letter, blank or Return closes the dialog:
// the user may still be typing.
export function showLost({ focus }, why, done) {
  const written = focus.value.trim();
  const box = h("dialog", { "aria-label": "This question is already answered", tabindex: "-1" }, h("h2", {}, "This question is already answered"), h("p", {}, why), written ? [h("p", { class: "quiet" }, "Your text:"), code(written)] : null, h("div", { class: "row end" }, button("Close", { key: "Esc", onclick: () => box.close() })));
  for (const kind of ["cancel", "close"]) box.addEventListener(kind, done); // `cancel` fires before the next key
  showDialog(box).focus();
}

export async function grantOf(requestId) {
  const { grants } = await get("/api/grants");
  return grants.find((each) => each.requestId === requestId);
}
