// Logging in: by a one-time link, whose code stands behind the `#` and never in a request's address, or by a token.

import { post } from "./api.js";
import { button, byId, field, h, put } from "./dom.js";
import { shown } from "./text.js";

export async function showDoor(enter) {
  const door = byId("door");
  const code = location.pathname === "/login" ? location.hash.slice(1) : "";
  if (code) history.replaceState(null, "", "/login");
  door.hidden = false;
  byId("shell").hidden = true;
  if (!code) {
    ask(door, enter);
    return;
  }
  put(door, h("p", { role: "status" }, "Logging in …"));
  try {
    enter(await post("/api/login", { code }));
  } catch (error) {
    ask(door, enter, error.message);
  }
}

function ask(door, enter, fault = "") {
  const token = h("input", { type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const problem = h("p", { class: "notice bad", role: "alert", hidden: !fault }, shown(fault));
  const send = button("Log in", { kind: "good", type: "submit" });
  const form = h("form", { class: "panel" }, h("img", { src: "/assets/icon.svg", alt: "", width: "44", height: "44" }), h("h1", {}, "Assent"), h("p", {}, "Make a one-time link in a terminal and open it here:"), h("pre", { class: "code" }, "assent token link"), problem, field("Or paste a token of yours", token, "It is traded for a session of this browser and not kept."), send);
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
  put(door, form);
  token.focus();
}
