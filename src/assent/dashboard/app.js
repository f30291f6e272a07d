// The frame of every page: the user, the navigation, the connection state and the routing.

import { get, remove, whenLoggedOut } from "./api.js";
import { announce, badge, notificationSettings } from "./notifications.js";
import { button, byId, h, put, say, svg, toast } from "./dom.js";
import { Inbox } from "./inbox.js";
import { Live } from "./live.js";
import { showLogin } from "./login.js";

const PAGES = [
  { path: "/", name: "Inbox", glyph: "M2 9l2.5-6h7L14 9v4H2zM2 9h3.5l1 2h3l1-2H14" },
  { path: "/sessions", name: "Sessions", glyph: "M2 3h12v8H2zM6 14h4M8 11v3", load: () => import("./sessions.js") },
  { path: "/audit", name: "Audit", glyph: "M3 2h7l3 3v9H3zM5.5 7h5M5.5 10h5", load: () => import("./audit.js") },
  { path: "/policy", name: "Policy", glyph: "M8 1.5l5.5 2v4c0 3.5-2.4 5.7-5.5 7-3.1-1.3-5.5-3.5-5.5-7v-4z", load: () => import("./policy.js") },
  { path: "/overview", name: "Overview", glyph: "M2.5 14V8M6.5 14V3M10.5 14V6M14 14H1", load: () => import("./overview.js") },
  { path: "/people", name: "People", glyph: "M6 7.5a2.5 2.5 0 100-5 2.5 2.5 0 000 5zM1.5 14c0-3 2-4.5 4.5-4.5s4.5 1.5 4.5 4.5M11 7a2 2 0 100-4M12 9.7c1.7 .5 2.5 2 2.5 4.3", load: () => import("./people.js"), admin: true },
];
const STATES = {
  connecting: ["", "connecting…"],
  live: ["good", "live"],
  polling: ["warn", "polling; reconnecting"],
  unreachable: ["bad", "daemon unreachable"],
  forbidden: ["bad", "not allowed to receive questions"],
};

let who;
let live;
let inbox;
let shownPage;
let leave = () => {};
let missed = false; // whether loading the current page failed

const mine = () => PAGES.filter((page) => !page.admin || who.role === "admin");
const pageOf = (path) => mine().find((page) => page.path === path) || PAGES[0];

function enter(person) {
  who = person;
  byId("login").hidden = true;
  byId("shell").hidden = false;
  if (location.pathname === "/login") history.replaceState(null, "", "/");
  drawFrame();
  inbox = null;
  live = new Live(who, { changed: onChange, ended: (question, outcome) => inbox.ended(question, outcome), status: drawState });
  inbox = new Inbox(who, live);
  drawState(live.state);
  live.start();
  show();
}

function onChange(change) {
  badge(live.questions.size, shownPage?.name || "Inbox");
  inbox.changed(change);
  if (!change.added.length || change.first) return;
  announce(change.added.map((id) => live.questions.get(id)), (question) => {
    if (shownPage.load) go("/");
    inbox.reveal(question.id);
  });
}

function drawState(state) {
  const [kind, words] = STATES[state];
  const place = byId("link");
  place.className = `link ${kind}`;
  put(place, h("span", { class: "dot", "aria-hidden": "true" }), words);
  if (missed && (state === "live" || state === "polling")) show();
}

const glyph = (d) => svg("svg", { class: "glyph", viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d }));

function drawFrame() {
  put(byId("nav"), h("ul", {}, mine().map((page, index) => h("li", {}, h("a", { href: page.path, "data-page": page.path, "aria-keyshortcuts": String(index + 1) }, glyph(page.glyph), h("span", {}, page.name), page.path === "/" ? h("span", { id: "badge", class: "badge", hidden: true }) : null)))));
  const menu = h("details", { class: "menu" }, h("summary", {}, h("span", {}, who.userId), h("span", { class: "quiet" }, who.role)), h("div", { class: "panel" }, notificationSettings(), h("a", { href: "/docs" }, "The API"), button("Log out", { onclick: () => logOut("") }), button("Log out everywhere", { onclick: () => logOut("?everywhere=true") })));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.firstElementChild.focus();
  });
  put(byId("me"), menu);
}

async function logOut(query) {
  try {
    await remove(`/api/login${query}`);
  } catch (error) {
    if (error.status !== 401) {
      toast(error.message, { bad: true });
      return;
    }
  }
  location.replace("/login");
}

function logIn() {
  live?.stop();
  live = null;
  leave();
  leave = () => {};
  for (const place of ["main", "toasts", "said"]) byId(place).replaceChildren();
  badge(0, "Log in");
  showLogin(enter);
}

export function go(address) {
  history.pushState(null, "", address);
  show();
}

// Open a page that the user chose, and move the focus into it.
function turn(address) {
  byId("main").focus({ preventScroll: true });
  go(address);
  say(`${shownPage.name} page`);
}

async function show() {
  const page = pageOf(location.pathname);
  leave();
  leave = () => {};
  missed = false;
  shownPage = page;
  for (const link of document.querySelectorAll("[data-page]")) {
    if (link.dataset.page === page.path) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  badge(live.questions.size, page.name);
  const main = byId("main");
  if (!page.load) {
    inbox.mount(main);
    leave = () => inbox.unmount();
    return;
  }
  const module = await page.load().catch(() => null);
  if (shownPage !== page) return;
  missed = !module;
  if (module) leave = module.mount(main, { who, go, live }) || leave;
  else put(main, h("div", { class: "title" }, h("h1", {}, page.name)), h("p", { class: "notice bad", role: "alert" }, "Can't load this page. Retrying…"));
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='/']");
  for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  if (!link || !live || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const address = new URL(link.href);
  if (!PAGES.some((page) => page.path === address.pathname)) return;
  event.preventDefault();
  turn(address.pathname + address.search);
});

document.addEventListener("keydown", (event) => {
  if (!live || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
  const page = /^[1-6]$/.test(event.key) ? mine()[Number(event.key) - 1] : null;
  if (page) turn(page.path);
  else if (event.key === "?" || !shownPage?.load) {
    if (!inbox.key(event)) return;
  } else return;
  event.preventDefault();
});

// A click or key just after the window gets the focus may have been meant for another window.
window.addEventListener("focus", () => inbox?.settle({ keys: true }));
window.addEventListener("blur", () => inbox?.tidy());
window.addEventListener("popstate", () => live && show());
whenLoggedOut(logIn);

get("/api/login").then(enter, (error) => (error.status === 401 ? logIn() : showLogin(enter)));
