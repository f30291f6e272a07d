// People and agents with their tokens, for admins: create tokens (shown once) and revoke them.

import { get, post, remove } from "./api.js";
import { button, field, h, put, renew, select, toast } from "./dom.js";
import { plain, shown, time, told } from "./text.js";

const SPANS = [["", "until revoked"], ["86400", "a day"], ["604800", "a week"], ["2592000", "30 days"], ["31536000", "a year"]];
const KINDS = { bearer: "token", cookie: "browser", link: "one-time link" };

// Browsers offer the clipboard only over HTTPS or on localhost.
async function copy(secret) {
  try {
    await navigator.clipboard.writeText(secret);
    toast("Copied.");
  } catch {
    toast("Can't copy in this browser. Select the token and copy it yourself.", { bad: true });
  }
}

export function mount(main, { who }) {
  const list = h("div", {});
  const made = h("div", { role: "status" });
  const problem = h("p", { class: "notice bad", role: "alert", hidden: true });
  const role = select([["agent", "agent: asks"], ["user", "user: answers"], ["admin", "admin: everything"]], "agent");
  const user = h("input", { type: "text", value: who.userId, required: true, maxlength: "128" });
  const agent = h("input", { type: "text", placeholder: "claude-code", maxlength: "128" });
  const label = h("input", { type: "text", maxlength: "128", placeholder: "laptop" });
  const span = select(SPANS, "2592000");
  const workspace = h("input", { type: "text", class: "mono", placeholder: "/home/me/code/site", spellcheck: "false" });
  const remote = h("input", { type: "checkbox" });
  const alone = h("input", { type: "checkbox" });
  const forAgents = h("div", { class: "fields3" }, field("Agent", agent), field("Workspace", workspace, "Fixed. Without it: the project of each call."), h("div", { class: "stacked" }, h("label", { class: "check" }, remote, "remote agent (other machine)"), h("label", { class: "check" }, alone, "never ask, deny")));
  const send = button("Create token", { kind: "good", type: "submit" });
  const form = h("form", { class: "panel" }, h("h2", {}, "New token"), h("div", { class: "fields3" }, field("Role", role), field("User", user), field("Label", label), field("Valid for", span)), forAgents, problem, h("div", { class: "actions" }, send), made);
  role.addEventListener("change", () => (forAgents.hidden = role.value !== "agent"));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.hidden = true;
    const body = { role: role.value, user: user.value.trim(), label: label.value.trim(), expiresIn: span.value ? Number(span.value) : undefined };
    if (role.value === "agent") Object.assign(body, { agent: agent.value.trim(), remote: remote.checked, interactive: alone.checked ? false : undefined, workspace: workspace.value.trim() ? [workspace.value.trim()] : [] });
    try {
      const { secret } = await post("/api/tokens", body);
      put(made, h("div", { class: "notice good" }, h("p", {}, "Copy the token now. It is not shown again."), h("pre", { class: "code" }, secret), h("div", { class: "row" }, button("Copy", { onclick: () => copy(secret) }), button("Done", { onclick: () => (made.replaceChildren(), send.focus()) }))));
      draw();
    } catch (error) {
      problem.hidden = false;
      put(problem, shown(error.message));
    }
  });
  put(main, h("div", { class: "title" }, h("h1", {}, "People and tokens")), h("div", { class: "stack" }, form, list));

  async function draw() {
    try {
      const { tokens } = await get("/api/tokens");
      const people = Map.groupBy ? Map.groupBy(tokens, (each) => each.user) : grouped(tokens);
      renew(list, tokens, () => h("div", { class: "stack" }, [...people].map(([name, theirs]) => person(name, theirs))));
    } catch (error) {
      put(list, h("p", { class: "notice bad", role: "alert" }, error.message));
    }
  }

  function grouped(tokens) {
    const found = new Map();
    for (const token of tokens) found.set(token.user, [...(found.get(token.user) || []), token]);
    return found;
  }

  function person(name, theirs) {
    const rows = theirs.map((token) => h("tr", {}, h("td", {}, h("span", { class: "tag" }, token.role)), h("td", { class: "name" }, KINDS[token.kind] || token.kind), h("td", { class: "said" }, told([token.agent, token.label].filter(Boolean).join(" · ") || "–"), token.remote ? h("span", { class: "quiet" }, " remote") : null, token.workspace.length ? [" ", h("code", {}, told(token.workspace.join(", ")))] : null), h("td", { class: "quiet name" }, time(token.created_at * 1000)), h("td", { class: "quiet name" }, token.expires_at ? time(token.expires_at * 1000) : "never"), h("td", {}, button("Revoke", { kind: "plain", "aria-label": plain(`Revoke ${token.id}, ${[token.agent, token.label].filter(Boolean).join(" ") || token.role}`), onclick: () => revoke(token) }))));
    const agents = [...new Set(theirs.map((each) => each.agent).filter(Boolean))];
    return h("section", { class: "panel" }, h("h2", {}, told(name)), agents.length ? h("p", { class: "quiet" }, "Agents: ", told(agents.join(", "))) : null, h("div", { class: "table" }, h("table", {}, h("thead", {}, h("tr", {}, ["Role", "Kind", "Agent and label", "Created", "Expires", ""].map((head) => h("th", { scope: "col" }, head || h("span", { class: "unseen" }, "Action"))))), h("tbody", {}, rows))));
  }

  async function revoke(token) {
    try {
      await remove(`/api/tokens/${encodeURIComponent(token.id)}`);
      toast("Revoked.");
      draw();
    } catch (error) {
      toast(error.message, { bad: true });
    }
  }

  draw();
}
