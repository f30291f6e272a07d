// Log in with a one-time link or a token. The link's code is in the fragment, so no request URL contains it.

import { post } from "./api.js";
import { button, byId, field, h, put } from "./dom.js";
import { shown } from "./text.js";

export async function showLogin(enter) {
  const place = byId("login");
  const code = location.pathname === "/login" ? location.hash.slice(1) : "";
  if (code) history.replaceState(null, "", "/login");
  place.hidden = false;
  byId("shell").hidden = true;
  if (!code) {
    ask(place, enter);
    return;
  }
  put(place, h("p", { role: "status" }, "Logging in…"));
  try {
    enter(await post("/api/login", { code }));
  } catch (error) {
    ask(place, enter, error.message);
  }
}

function ask(place, enter, fault = "") {
  const token = h("input", { type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const problem = h("p", { class: "notice bad", role: "alert", hidden: !fault }, shown(fault));
  const send = button("Log in", { kind: "good", type: "submit" });
  const form = h("form", { class: "panel" }, h("img", { src: "/assets/icon.svg", alt: "", width: "44", height: "44" }), h("h1", {}, "Assent"), h("p", {}, "Make a one-time link in a terminal and open it here:"), h("pre", { class: "code" }, "assent token link"), problem, field("Or paste your token", token, "Used once to sign in; not stored"), send);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    send.disabled = true;
    try {
      enter(await post("/api/login", { token: token.value.trim() }));
    } catch (error) {
      problem.hidden = false;
      put(problem, shown(error.message));
      send.disabled = false;
      token.focus();
    }
    token.value = "";
  });
  put(place, form);
  token.focus();
}
