// The inbox: all pending questions, oldest first, so that cards do not move while somebody answers.

import { post, remove } from "./api.js";
import { editForm, feedbackForm, grantOf, showLost, widerForm } from "./answers.js";
import { clockText, drawCard, makeCard } from "./card.js";
import { button, byId, h, put, say, settle, toast } from "./dom.js";
import { showKeys } from "./keys.js";
import { isFolded, isVisible, look, unseen } from "./visibility.js";
import { brief, count, plain } from "./text.js";

const STEP = 30;
const WORDS = { once: { decision: "approve" }, session: { decision: "approve", scope: "session" }, deny: { decision: "reject" } };
const DONE = { approve: "Allowed", approve_always: "Allowed", reject: "Denied" };
const ANSWERS = "aswudfeASD";
const FOR_ONE = "aswudfe"; // keys that answer the open question rather than the selection
const THIS_ONE = "This question is now selected. Read it, then press the key again.";
const HARMLESS = "jkxz?";
const MOVES = ["scroll", "resize", "expanded"]; // events after which other parts of a call may be visible
const ALLOWING = ["once", "session", "wider", "edit"];
const TOO_LONG = "Too long to approve from here. Expand it first.";
const NOT_SEEN = "You haven't seen all of it yet. Scroll through it first.";
const FORMS = { wider: widerForm, feedback: feedbackForm, edit: editForm };

export class Inbox {
  constructor(who, live) {
    this.who = who;
    this.live = live;
    this.cards = new Map();
    this.selected = new Set();
    this.faults = new Map();
    this.read = new Set(); // questions whose whole call was visible
    this.current = null;
    this.shown = STEP;
  }

  mount(main) {
    this.list = h("ol", { class: "cards", "aria-label": "Questions", onpointerleave: () => this.tidy() });
    this.bulk = this.makeBulk();
    this.further = button("", { kind: "plain", hidden: true, onclick: () => this.extend() });
    this.empty = h("div", { class: "empty", hidden: true }, h("p", { class: "big" }, "No pending questions"), h("p", { class: "quiet" }, "New questions from your agents appear here."), h("p", { class: "quiet" }, "To connect an agent, run: ", h("code", {}, "assent init claude-code")));
    this.loading = h("p", { class: "quiet" }, "Loading…");
    this.summary = h("p", { class: "quiet", role: "status" });
    this.more = h("div", { class: "more" }, this.further);
    put(main, h("div", { class: "title" }, h("h1", {}, "Inbox"), this.summary, h("span", { class: "gap" }), button("Keys", { key: "?", kind: "plain", onclick: () => showKeys() })), this.loading, this.empty, this.list, this.more, this.bulk);
    this.watcher = new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && this.extend(), { rootMargin: "600px" });
    this.watcher.observe(this.more);
    this.looking = () => this.look();
    for (const kind of MOVES) addEventListener(kind, this.looking, { capture: true, passive: true });
    this.timer = setInterval(() => this.tick(), 5000);
    this.cards.clear();
    this.draw();
  }

  unmount() {
    clearInterval(this.timer);
    this.watcher?.disconnect();
    for (const kind of MOVES) removeEventListener(kind, this.looking, { capture: true });
    this.list = null;
  }

  get ids() {
    return [...this.live.questions.keys()];
  }

  changed({ removed, added, updated = [] }) {
    for (const id of removed) this.drop(id);
    for (const id of updated) if (!this.cards.get(id)?.state.form) this.redraw(id);
    if (updated.length) this.settle({ keys: false });
    if (this.list) this.draw();
    if (added.length && this.list) say(`${count(added.length, "new question")}, ${this.live.questions.size} pending`);
  }

  // Say why a card disappears that was answered elsewhere or expired.
  ended(question, outcome) {
    if (this.cards.get(question.id)?.state.busy) return;
    const words = { approve: "allowed", reject: "denied" };
    const what = plain(brief(question.command || question.toolName, 80));
    const said = words[outcome.decision] ? `${words[outcome.decision]} by ${plain(outcome.by || "somebody")}` : String(outcome.decision);
    this.gone = `${said[0].toUpperCase()}${said.slice(1)}: ${what}`;
    if (this.list) (this.mayHold(question.id) ? say : toast)(this.gone);
  }

  drop(id) {
    const card = this.cards.get(id);
    for (const known of [this.selected, this.faults, this.read]) known.delete(id);
    const keys = this.current === id;
    if (keys) this.current = this.neighbour(id);
    if (!card) return;
    const focused = card.element.contains(document.activeElement);
    if (this.mayHold(id, keys)) this.hold(card.element);
    else card.element.remove();
    if (card.state.busy || !this.live.questions.size) this.tidy();
    if (card.state.form && !card.state.busy && this.list) this.lose(card.state.form);
    this.gone = "";
    this.cards.delete(id);
    this.settle({ keys });
    this.refocus ||= focused;
  }

  // Whether to leave a placeholder for a card that was answered elsewhere, so that the other cards do not move.
  mayHold(id, open = id === this.current) {
    const card = this.cards.get(id);
    const isWatched = document.hasFocus() && this.live.questions.size > 0;
    return isWatched && Boolean(card?.element.isConnected) && !open && !card.state.busy;
  }

  hold(element) {
    const room = h("li", { class: "gone quiet" }, this.gone || "Answered elsewhere or expired.");
    room.style.height = `${element.getBoundingClientRect().height}px`;
    element.replaceWith(room);
  }

  // The question of an open form is gone: show a dialog, so that further typing answers nothing.
  lose(form) {
    showLost(form, this.gone || "The question was answered elsewhere or expired.", () => {
      this.settle({ keys: true });
      (this.cards.get(this.current)?.element || byId("main")).focus({ preventScroll: true });
    });
  }

  tidy() {
    const rooms = this.list?.querySelectorAll(".gone") || [];
    for (const room of rooms) room.remove();
    if (rooms.length) this.settle({ keys: false });
  }

  // Ignore keys and clicks just after the current question changed: they may have been meant for the previous one.
  settle({ keys }) {
    this.ignoresKeys ||= keys;
    if (this.list) settle(this.list, () => (this.ignoresKeys = false));
  }

  neighbour(id) {
    const shown = [...this.cards.keys()];
    const at = shown.indexOf(id);
    return shown[at + 1] ?? shown[at - 1] ?? null;
  }

  draw() {
    const ids = this.ids;
    const total = ids.length;
    this.loading.hidden = this.live.loaded;
    this.empty.hidden = !this.live.loaded || total > 0;
    put(this.summary, this.live.loaded && total ? `${count(total, "question")} waiting` : "");
    if (!this.live.questions.has(this.current)) {
      this.current = ids[0] ?? null;
      if (this.current) this.settle({ keys: true });
    }
    for (const id of ids.slice(0, this.shown)) {
      if (this.cards.has(id)) continue;
      const card = makeCard(this.live.questions.get(id), this);
      this.cards.set(id, card);
      card.state.error = this.faults.get(id) || "";
      drawCard(card, this);
      this.list.append(card.element);
    }
    const open = this.cards.get(this.current);
    if (open && !open.element.classList.contains("open")) drawCard(open, this);
    if (this.refocus) (open?.element || byId("main")).focus({ preventScroll: true });
    this.refocus = false;
    this.further.hidden = total <= this.shown;
    put(this.further, `Show more of the remaining ${Math.max(0, total - this.shown).toLocaleString("en")}`);
    this.drawBulk();
    this.look();
  }

  // Record which calls are visible; a call is read once all of it was.
  look() {
    if (this.awaited) return;
    this.awaited = requestAnimationFrame(() => {
      this.awaited = 0;
      if (this.list) for (const id of this.cards.keys()) this.note(id);
    });
  }

  note(id) {
    const card = this.cards.get(id);
    if (card && !this.read.has(id) && look(card.element)) this.read.add(id);
  }

  extend() {
    if (!this.list || this.shown >= this.ids.length) return;
    this.shown += STEP;
    this.draw();
  }

  tick() {
    for (const { question, element } of this.cards.values()) element.querySelector(".clock").textContent = clockText(question);
  }

  redraw(id) {
    const card = this.cards.get(id);
    if (card && this.list) drawCard(card, this);
    this.look();
  }

  choose(id, { focus = false } = {}) {
    if (id === null || id === undefined) return;
    const before = this.current;
    this.current = id;
    if (before !== id) {
      this.redraw(before);
      this.redraw(id);
    }
    const card = this.cards.get(id);
    if (focus && card) {
      card.element.focus({ preventScroll: true });
      card.element.scrollIntoView({ block: "nearest" });
    }
  }

  // Open the question of a notification, unless it was answered meanwhile.
  reveal(id) {
    if (!this.live.questions.has(id)) {
      toast("This question is already answered.");
      return;
    }
    this.settle({ keys: true });
    this.jump(this.ids.indexOf(id));
  }

  // The first step only focuses the current card.
  step(by) {
    const ids = this.ids;
    const at = Math.max(0, ids.indexOf(this.current));
    const here = document.activeElement?.closest(".card");
    this.jump(here ? Math.min(ids.length - 1, Math.max(0, at + by)) : at);
  }

  jump(to) {
    this.tidy();
    if (to >= this.shown) {
      this.shown = Math.ceil((to + 1) / STEP) * STEP;
      this.draw();
    }
    this.choose(this.ids[to], { focus: true });
  }

  select(id, on = !this.selected.has(id)) {
    if (on) this.selected.add(id);
    else this.selected.delete(id);
    const box = this.cards.get(id)?.element.querySelector("input[type=checkbox]");
    if (box) box.checked = on;
    this.drawBulk();
  }

  makeBulk() {
    const ids = () => [...this.selected];
    this.counted = h("strong", {});
    const choose = [button("Select all", { kind: "plain", onclick: () => this.ids.forEach((id) => this.select(id, true)) }), button("Clear", { kind: "plain", onclick: () => ids().forEach((id) => this.select(id, false)) })];
    const answers = [button("Allow each once", { key: "Shift+A", kind: "good", onclick: () => this.answerAll(ids(), WORDS.once) }), button("Their sessions", { key: "Shift+S", onclick: () => this.answerAll(ids(), WORDS.session) }), button("Deny", { key: "Shift+D", kind: "refuse", onclick: () => this.answerAll(ids(), WORDS.deny) })];
    return h("div", { class: "bulk", role: "region", "aria-label": "Answer the selection", hidden: true }, h("div", { class: "row" }, this.counted, choose), h("div", { class: "row" }, answers));
  }

  drawBulk() {
    const none = this.selected.size === 0;
    if (none && this.bulk.contains(document.activeElement)) (this.cards.get(this.current)?.element || byId("main")).focus({ preventScroll: true });
    this.bulk.hidden = none;
    put(this.counted, `${this.selected.size} selected`);
  }

  // Do what a button or key asks for.
  act(id, action) {
    const card = this.cards.get(id);
    if (!card || card.state.busy) return;
    const unread = ALLOWING.includes(action) && this.unread(id);
    if (this.current !== id) this.choose(id);
    if (unread) {
      this.hint(unread);
      unseen(card.element)?.scrollIntoView({ block: "nearest" });
      return;
    }
    if (WORDS[action]) this.answer(id, WORDS[action]);
    else this.openForm(card, FORMS[action]);
  }

  openForm(card, make) {
    const { question, state } = card;
    state.error = "";
    const cancel = () => {
      state.form = null;
      drawCard(card, this);
      card.element.focus({ preventScroll: true });
    };
    const submit = (read) => {
      try {
        this.answer(question.id, read());
      } catch (error) {
        state.error = error.message;
        drawCard(card, this);
        (error.field || state.form.focus).focus();
      }
    };
    state.form = make(question, { submit, cancel });
    drawCard(card, this);
    state.form.focus.focus();
  }

  async answer(id, body, { quiet = false } = {}) {
    const card = this.cards.get(id);
    const question = this.live.questions.get(id);
    if (!question || card?.state.busy) return false;
    if (card) {
      Object.assign(card.state, { busy: true, error: "" });
      card.state.form?.lock(true);
      drawCard(card, this);
    }
    try {
      await post("/api/permissions", { requestId: id, ...body });
    } catch (error) {
      if (card) {
        Object.assign(card.state, { busy: false, error: error.message });
        card.state.form?.lock(false);
        this.redraw(id);
        card.state.form?.focus.focus();
        if (this.list && id === this.current) card.element.querySelector("[role=alert]")?.scrollIntoView({ block: "nearest" });
      } else this.faults.set(id, error.message);
      if (!this.live.questions.has(id)) toast(`Not ${DONE[body.decision].toLowerCase()}: ${error.message}`, { bad: true });
      return false;
    }
    this.live.end(id, { decision: body.decision, by: this.who.userId });
    if (!quiet) this.told(question, body);
    return true;
  }

  told(question, body) {
    const what = plain(brief(body.pattern || question.command || question.toolName, 80));
    const lasting = body.scope && body.scope !== "once";
    if (lasting) this.lasting = question.id;
    const text = `${DONE[body.decision]}${lasting ? (body.scope === "session" ? " for the session" : body.expiresIn ? " for a time" : " always") : ""}: ${what}`;
    toast(text, lasting ? { label: "Undo", key: "z", action: () => this.undo(question.id) } : {});
  }

  async undo(requestId) {
    try {
      const grant = await grantOf(requestId);
      if (!grant) throw new Error("This grant no longer exists.");
      await remove(`/api/grants/${encodeURIComponent(grant.id)}`);
      this.lasting = null;
      toast("Undone: you'll be asked again.");
    } catch (error) {
      toast(`Not undone: ${error.message}`, { bad: true });
    }
  }

  // Why a call cannot have been read; empty if all of it was visible.
  unread(id) {
    this.note(id);
    if (this.read.has(id)) return "";
    const card = this.cards.get(id);
    return card && isFolded(card.element) ? TOO_LONG : NOT_SEEN;
  }

  leaveOut(id, reason) {
    const card = this.cards.get(id);
    if (card) card.state.error = reason;
    else this.faults.set(id, reason);
    this.redraw(id);
  }

  async answerAll(selected, body) {
    if (!selected.length) return;
    const unread = body.decision === "reject" ? new Map() : new Map(selected.map((id) => [id, this.unread(id)]).filter(([, reason]) => reason));
    for (const [id, reason] of unread) this.leaveOut(id, reason);
    const ids = selected.filter((id) => !unread.has(id));
    let done = 0;
    let next = 0;
    const work = async () => {
      while (next < ids.length) if (await this.answer(ids[next++], body, { quiet: true })) done++;
    };
    await Promise.all(Array.from({ length: 6 }, work));
    const failed = selected.length - done;
    const left = failed === unread.size ? `${failed} left: you haven't seen them yet` : `${failed} left; the cards say why`;
    toast(`${DONE[body.decision]}: ${done}${failed ? `. ${left}` : ""}`, { bad: failed > 0 });
  }

  // Say why a key did not answer.
  hint(words) {
    this.hinted?.remove();
    this.hinted = toast(words, { seconds: 3 });
    return true;
  }

  key(event) {
    if (event.repeat && !"jk".includes(event.key) && !event.key.startsWith("Arrow")) return false;
    if (this.ignoresKeys && event.key.length === 1 && !HARMLESS.includes(event.key)) {
      this.settle({ keys: true }); // until the typing stops
      if (ANSWERS.includes(event.key)) return this.hint("The question has changed. Read it, then press the key again.");
    }
    const here = document.activeElement?.closest(".card")?.dataset.id;
    if (here && here !== this.current && this.cards.has(here)) {
      this.choose(here, { focus: true });
      if (ANSWERS.includes(event.key)) return this.hint(THIS_ONE);
    }
    const open = this.cards.get(this.current)?.element;
    if (open && FOR_ONE.includes(event.key) && !isVisible(open)) {
      open.scrollIntoView({ block: "nearest" });
      return this.hint(THIS_ONE);
    }
    const keys = {
      j: () => this.step(1),
      k: () => this.step(-1),
      ArrowDown: () => this.step(1),
      ArrowUp: () => this.step(-1),
      Home: () => this.jump(0),
      End: () => this.jump(this.ids.length - 1),
      a: () => this.act(this.current, "once"),
      s: () => this.act(this.current, "session"),
      w: () => this.act(this.current, "wider"),
      u: () => this.act(this.current, "wider"),
      d: () => this.act(this.current, "deny"),
      f: () => this.act(this.current, "feedback"),
      e: () => this.act(this.current, "edit"),
      x: () => this.current && this.select(this.current),
      A: () => this.answerAll([...this.selected], WORDS.once),
      S: () => this.answerAll([...this.selected], WORDS.session),
      D: () => this.answerAll([...this.selected], WORDS.deny),
      z: () => this.lasting && this.undo(this.lasting),
      "?": () => showKeys(),
    };
    if (!keys[event.key]) return false;
    keys[event.key]();
    return true;
  }
}
