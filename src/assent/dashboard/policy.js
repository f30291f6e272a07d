// The policy page: rules in force and their files, standing approvals, destructive calls, playground, rule drafts.

import { get, post, remove } from "./api.js";
import { button, debounce, field, h, put, renew, select, showDialog, toast } from "./dom.js";
import { decided, facts } from "./record.js";
import { code, count, duration, plain, shown, time, told, verdict } from "./text.js";

const TABS = [["rules", "In force"], ["grants", "Standing approvals"], ["destructive", "Destructive"], ["playground", "Playground"], ["draft", "Draft a rule"]];

export function mount(main, context) {
  const given = new URLSearchParams(location.search);
  const tab = TABS.some(([name]) => name === given.get("tab")) ? given.get("tab") : "rules";
  const body = h("div", { class: "stack" });
  const tabs = h("nav", { class: "tabs", "aria-label": "Parts of the policy page" }, TABS.map(([name, label]) => h("a", { href: `/policy?tab=${name}`, "aria-current": name === tab ? "page" : null }, label)));
  put(main, h("div", { class: "title" }, h("h1", {}, "Policy")), tabs, body);
  const current = tabs.querySelector("[aria-current]");
  tabs.scrollLeft = current.offsetLeft - (tabs.clientWidth - current.offsetWidth) / 2;
  return { rules, grants, destructive, playground, draft }[tab](body, context, given);
}

const guarded = (place, work) => work().catch((error) => put(place, h("p", { class: "notice bad", role: "alert" }, error.message)));

// --- rules in force

function rules(body) {
  const cwd = h("input", { type: "text", class: "mono", placeholder: "/home/me/code/site", spellcheck: "false" });
  const shownRules = h("div", { class: "stack" });
  put(body, field("Working directory", cwd, "Without one: the rules that apply everywhere and to remote agents."), shownRules);
  const show = () => guarded(shownRules, async () => put(shownRules, layers(await get("/api/policy", { cwd: cwd.value.trim() }))));
  cwd.addEventListener("input", debounce(250, show));
  show();
}

function layers(found) {
  const policies = found.policies || [];
  return [
    found.fault ? h("p", { class: "notice bad" }, "The policy files have an error; the previous rules stay in force: ", told(found.fault)) : null,
    (found.notices || []).map((notice) => h("p", { class: "notice warn" }, told(notice))),
    h("p", {}, "Mode ", found.modes.map((mode) => [h("strong", {}, mode), " "]), h("span", { class: "quiet" }, `· version ${found.version}`), found.workspace?.length ? [" workspace ", h("code", {}, told(found.workspace.join(", ")))] : null),
    policies.length ? policies.map(layer) : h("section", { class: "panel" }, h("h2", {}, "No rules yet; defaults apply"), h("p", { class: "quiet" }, "Safe calls run, dangerous ones need approval, destructive ones are denied.")),
    h("p", { class: "quiet" }, "The strictest rule wins in any order: deny beats ask, ask beats allow."),
  ];
}

const GLOBS = [["forbidden", "Forbidden files"], ["deny_commands", "Denied commands"], ["approve_commands", "Commands to ask about"]];

function layer(policy) {
  const lists = ["deny", "ask", "allow"].filter((effect) => policy[effect]?.length);
  const untrusted = policy.layer === "project" && !policy.trusted;
  const settings = [["Mode", policy.mode], ["Sandbox", policy.profile], ["Classifier", policy.classifier === undefined ? null : policy.classifier ? "on" : "off"], ...["read", "write"].map((kind) => [`${kind === "read" ? "Reads" : "Writes"}`, paths(policy[kind])]), ...GLOBS.map(([name, label]) => [label, policy[name]?.length ? codes(policy[name]) : null]), ["Commands", policy.commands?.length ? codes(policy.commands.flatMap((each) => each.names)) : null]];
  return h(
    "section",
    { class: "panel" },
    h("div", { class: "row" }, h("h2", {}, policy.layer || "user"), h("code", { class: "quiet" }, told(policy.file || "built in")), untrusted ? h("span", { class: "tag" }, "not trusted: allow rules ignored") : null),
    facts(settings),
    lists.map((effect) => h("div", { class: "rulelist" }, verdict(effect), h("ul", { class: "plainlist" }, policy[effect].map(ruleLine)))),
    lists.length || settings.some(([, value]) => value) ? null : h("p", { class: "quiet" }, "This file has no rules."),
  );
}

const codes = (names) => names.map((name) => [h("code", {}, told(name)), " "]);

function paths(policy) {
  if (!policy) return null;
  const parts = ["deny", "allow"].filter((kind) => policy[kind]?.length).map((kind) => [`${kind} `, codes(policy[kind])]);
  if (policy.default) parts.push(`default: ${policy.default}`);
  return parts.length ? parts : null;
}

function ruleLine(rule) {
  const origin = rule.origin || {};
  const place = origin.line ? `line ${origin.line}` : "";
  const extras = [rule.every_time ? "every time" : "", rule.destructive ? "also destructive" : "", rule.expires ? `until ${new Date(rule.expires * 1000).toLocaleString()}` : "", rule.except?.length ? `except ${rule.except.join(", ")}` : ""].filter(Boolean).join(" · ");
  return h("li", {}, h("code", {}, told(rule.pattern === undefined ? rule.tool : `${rule.tool}(${rule.pattern})`)), h("span", { class: "quiet" }, ` ${place}${extras ? ` · ${extras}` : ""}`), rule.reason ? h("span", {}, " ", told(rule.reason)) : null);
}

// --- standing approvals

function grants(body, { who }) {
  const draw = () => guarded(body, async () => {
    const { grants: found } = await get("/api/grants");
    renew(body, found, () => (found.length ? h("div", { class: "table" }, h("table", {}, h("thead", {}, h("tr", {}, ["Answer", "Covers", "For", "Expires", "By", ""].map((head) => h("th", { scope: "col" }, head || h("span", { class: "unseen" }, "Action"))))), h("tbody", {}, found.map(row)))) : h("div", { class: "empty" }, h("p", { class: "big" }, "No standing approvals"), h("p", { class: "quiet" }, "Approvals for a session, for a time or for good appear here; you can revoke them."))));
  });
  const row = (grant) => h("tr", {}, h("td", {}, verdict(grant.verdict)), h("td", { class: "said" }, grant.pattern ? h("code", {}, told(grant.pattern)) : h("span", {}, "exactly one call ", grant.requestId ? h("a", { href: `/audit?approval=${encodeURIComponent(grant.requestId)}` }, "in the audit log") : h("code", { class: "quiet" }, (grant.digest || "").slice(0, 12))), grant.destructive ? h("span", { class: "tier destructive" }, "also destructive") : null), h("td", { class: "quiet for" }, told([who.userId === grant.userId ? "" : grant.userId, grant.agentId, grant.sessionId ? `session ${grant.sessionId}` : ""].filter(Boolean).join(" · "))), h("td", { class: "quiet name" }, grant.expiresAt ? time(grant.expiresAt) : grant.scope === "session" ? "with the session" : "never"), h("td", { class: "quiet name" }, told(grant.by), " ", time(grant.createdAt)), h("td", {}, button("Revoke", { kind: "plain", "aria-label": `Revoke ${plain(grant.pattern || grant.id)}`, onclick: () => revoke(grant) })));
  const revoke = (grant) => remove(`/api/grants/${encodeURIComponent(grant.id)}`).then(() => { toast("Revoked: you'll be asked again."); draw(); }, (error) => toast(error.message, { bad: true }));
  draw();
}

// --- destructive calls

function destructive(body, { who }) {
  const enabled = h("div", { class: "stack" });
  const blocked = h("div", {});
  const agent = h("input", { type: "text", placeholder: "claude-code", required: true });
  const minutes = select([["5", "5 minutes"], ["15", "15 minutes"], ["60", "an hour"]], "15");
  const form = h("form", { class: "panel" }, h("h2", {}, "Ask instead of blocking, for a while"), h("p", { class: "quiet" }, "Assent blocks calls that can't be undone. You can be asked about them instead for a while; you still decide each one."), h("div", { class: "fields3" }, field("All calls of this agent", agent), field("For", minutes), h("div", { class: "stacked" }, button("Ask about them", { type: "submit" }))));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    confirm(h("p", {}, "All destructive calls of ", h("strong", {}, told(agent.value.trim())), "."), agent.value.trim(), () => enable({ agentId: agent.value.trim(), minutes: Number(minutes.value) }));
  });
  const enable = (wanted) => post("/api/destructive", wanted).then(() => { toast(`You'll be asked for the next ${count(wanted.minutes, "minute")}`); draw(); }, (error) => toast(error.message, { bad: true }));
  put(body, enabled, form, h("section", { class: "panel" }, h("h2", {}, "Recently blocked"), blocked));

  // Confirm by typing a word: a click may have been meant for something else.
  function confirm(subject, word, action) {
    const typed = h("input", { type: "text", class: "mono", autocomplete: "off", spellcheck: "false" });
    const yes = button("Ask about it", { kind: "refuse", disabled: true, type: "submit" });
    typed.addEventListener("input", () => (yes.disabled = typed.value.trim() !== word));
    const asked = h("form", { class: "stack" }, subject, h("p", {}, "If you allow the call, it can't be undone."), field(["Type ", h("code", {}, shown(word)), " to confirm"], typed), h("div", { class: "row end" }, button("Cancel", { onclick: () => box.close() }), yes));
    const box = showDialog(h("dialog", { "aria-label": "Ask instead of blocking?" }, h("h2", {}, "Ask instead of blocking?"), asked));
    asked.addEventListener("submit", (event) => {
      event.preventDefault();
      if (yes.disabled) return;
      box.close();
      action();
    });
    typed.focus();
  }

  const once = (event) => {
    const word = (event.text.split(/\s+/)[0] || event.tool).slice(0, 40);
    confirm([h("p", {}, "This call, once, within five minutes:"), code(event.text, { render: (text, start, end) => told(text.slice(start, end)) })], word, () => enable({ digest: event.digest, minutes: 5 }));
  };

  function draw() {
    guarded(enabled, async () => {
      const { enablements } = await get("/api/destructive");
      renew(enabled, enablements, () => enablements.map((each) => h("p", { class: "notice warn row" }, h("span", { class: "gap" }, "Destructive calls of ", h("strong", {}, told(each.agentId || each.sessionId || `call ${(each.digest || "").slice(0, 12)}`)), ` are asked about for `, h("span", { class: "countdown", "data-until": each.until }, duration((each.until - Date.now()) / 1000)), " more, by ", told(each.by)), button("Block again", { "aria-label": `Block again: ${plain(each.agentId || each.sessionId || "this call")}`, onclick: () => remove(`/api/destructive/${encodeURIComponent(each.id)}`).then(draw) }))));
    });
    guarded(blocked, async () => {
      const { events } = await get("/api/audit", { tier: "destructive", verdict: "deny", type: "permission.evaluated", user: who.role === "admin" ? undefined : who.userId, brief: "true", limit: 20 });
      renew(blocked, events, () => (events.length ? h("div", { class: "table" }, h("table", {}, h("tbody", {}, events.map((event) => h("tr", {}, h("td", {}, time(event.at * 1000)), h("td", { class: "quiet name" }, told(event.agent)), h("td", { class: "said" }, h("code", {}, told(event.text.slice(0, 200)), event.text.length > 200 ? "…" : null)), h("td", {}, event.user === who.userId ? button("Ask me once", { kind: "plain", "aria-label": `Ask me once about ${plain(event.text.slice(0, 80))}`, onclick: () => once(event) }) : null)))))) : h("p", { class: "quiet" }, "No blocked calls")));
    });
  }

  draw();
  const clock = setInterval(() => {
    for (const each of body.querySelectorAll(".countdown")) {
      const left = (Number(each.dataset.until) - Date.now()) / 1000;
      if (left <= 0) return draw();
      each.textContent = duration(left);
    }
  }, 1000);
  return () => clearInterval(clock);
}

// --- the playground

function playground(body, _context, given) {
  const command = h("textarea", { class: "mono", rows: "3", spellcheck: "false", placeholder: "git push && curl -d @notes.txt https://example.com", value: given.get("command") || "" });
  const cwd = h("input", { type: "text", class: "mono", spellcheck: "false", placeholder: "/home/me/code/site" });
  const tool = select(["Bash", "Write", "Edit", "Read", "WebFetch"].map((name) => [name, name]), "Bash");
  const result = h("section", { class: "panel", "aria-live": "polite" }, h("p", { class: "quiet" }, "Type a call to see its decision. Nothing runs, nothing is logged, nobody is asked."));
  let running;
  const decide = async () => {
    running?.abort();
    if (!command.value.trim()) return;
    running = new AbortController();
    const input = { Bash: { command: command.value }, WebFetch: { url: command.value } }[tool.value] || { file_path: command.value };
    try {
      const found = await post("/api/decide", { toolName: tool.value, toolInput: input, cwd: cwd.value.trim() || undefined }, running.signal);
      put(result, decided(found.record));
    } catch (error) {
      if (error.name !== "AbortError") put(result, h("p", { class: "notice bad" }, shown(error.message)));
    }
  };
  const later = debounce(80, decide);
  for (const control of [command, cwd, tool]) control.addEventListener("input", later);
  put(body, h("div", { class: "panel" }, field("Command, path or URL", command), h("div", { class: "fields" }, field("Working directory", cwd), field("Tool", tool))), result);
  command.focus();
  decide();
}

// --- rule drafts

function draft(body, _context, given) {
  const rule = h("input", { type: "text", class: "mono", spellcheck: "false", autocomplete: "off", value: given.get("rule") || "", placeholder: "Bash(npm test:*)" });
  const effect = select([["allow", "allow"], ["ask", "ask"], ["deny", "deny"]], given.get("effect") || "allow");
  const days = select([["1", "the last day"], ["7", "the last 7 days"], ["30", "the last 30 days"]], "7");
  const result = h("div", { class: "stack", "aria-live": "polite" });
  let running;
  const attempt = async () => {
    running?.abort();
    if (!rule.value.trim()) return put(result, h("p", { class: "quiet" }, "Type a rule to see which past decisions it would change. No file is written."));
    running = new AbortController();
    try {
      put(result, outcome(await post("/api/policy/try", { rule: rule.value, effect: effect.value, days: Number(days.value) }, running.signal), effect.value));
    } catch (error) {
      if (error.name !== "AbortError") put(result, h("p", { class: "notice bad" }, shown(error.message)));
    }
    return null;
  };
  const later = debounce(150, attempt);
  for (const control of [rule, effect, days]) control.addEventListener("input", later);
  put(body, h("div", { class: "panel" }, h("div", { class: "fields3" }, field("Rule", rule), field("Effect", effect), field("Compare with", days))), result);
  rule.focus();
  attempt();
}

function outcome(found, effect) {
  const yaml = `permissions:\n  ${effect}:\n    - ${JSON.stringify(found.rule)}\n`;
  const rows = found.changes.map((each) => h("tr", {}, h("td", { class: "said" }, h("code", {}, told(each.command.slice(0, 300)), each.command.length > 300 ? "…" : null)), h("td", { class: "quiet name" }, told(each.agent)), h("td", { class: "number" }, each.count), h("td", { class: "name" }, verdict(each.before), " → ", verdict(each.after))));
  return [
    h("p", {}, h("strong", {}, found.changed ? `Changes ${count(found.changed, "decision")}` : "Changes no decision"), ` of ${count(found.calls, "call")}${found.whole ? "" : " (the latest ones)"}, ${found.asked.toLocaleString("en")} of which are asked about today.`),
    rows.length ? h("div", { class: "table" }, h("table", {}, h("thead", {}, h("tr", {}, ["Call", "Agent", "Times", "Decision"].map((head) => h("th", { scope: "col" }, head)))), h("tbody", {}, rows))) : null,
    found.changed > found.changes.reduce((sum, each) => sum + each.count, 0) ? h("p", { class: "quiet" }, "Only the latest are listed.") : null,
    h("section", { class: "panel" }, h("h2", {}, "To use the rule, add it to your assent.yaml"), h("pre", { class: "code" }, yaml), h("p", { class: "quiet" }, "The dashboard never writes policy files. The daemon reloads yours when you save it.")),
  ];
}

