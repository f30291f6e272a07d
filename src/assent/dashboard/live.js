// Keeps the list of pending questions up to date, over a WebSocket or, without one, by polling.
// The WebSocket is only a hint: after every gap the whole list is fetched again, so no question is lost.

import { get } from "./api.js";

const POLL = 3000;
const LOOK = 30000;
const SILENCE = 75000;
const SLOWEST = 15000;

export class Live {
  constructor(who, { changed, ended, status }) {
    this.who = who;
    this.questions = new Map();
    this.changed = changed;
    this.ended = ended;
    this.status = status;
    this.wanted = new Set();
    this.tries = 0;
    this.state = "connecting";
    this.loaded = false;
  }

  start() {
    this.stopped = false;
    this.connect();
    this.sync();
    this.timer = setInterval(() => this.look(), POLL);
  }

  stop() {
    this.stopped = true;
    clearInterval(this.timer);
    clearTimeout(this.retry);
    this.socket?.close();
  }

  connect() {
    if (this.stopped) return;
    const everyone = this.who.role === "admin" ? "&everyone=true" : "";
    const address = `${location.origin.replace(/^http/, "ws")}/ws/permissions?userId=${encodeURIComponent(this.who.userId)}${everyone}`;
    const socket = new WebSocket(address, ["assent"]);
    this.socket = socket;
    socket.onmessage = (event) => this.hear(JSON.parse(event.data));
    socket.onclose = (event) => this.lost(socket, event.code);
  }

  lost(socket, code) {
    if (socket !== this.socket || this.stopped) return;
    this.socket = null;
    this.become(code === 4401 || code === 4403 ? "forbidden" : "polling");
    const pause = Math.min(SLOWEST, 500 * 2 ** this.tries++);
    this.retry = setTimeout(() => this.connect(), pause * (0.75 + Math.random() / 2));
    this.sync();
  }

  hear(message) {
    this.heard = Date.now();
    const { type, data } = message;
    if (type === "connected") {
      this.tries = 0;
      this.become("live");
      this.sync();
    } else if (type === "permission_request") this.want(data.id);
    else if (type === "decision_ack") this.end(data.requestId, data);
  }

  // Wait until the list was fetched once; give up after three seconds.
  async known() {
    for (let tries = 0; tries < 60 && !this.loaded; tries++) await new Promise((done) => setTimeout(done, 50));
  }

  become(state) {
    if (this.state === state) return;
    this.state = state;
    this.status(state);
  }

  // Poll without a WebSocket, and rarely with one: an open socket may be dead.
  look() {
    if (this.state === "live" && Date.now() - this.heard > SILENCE) this.socket?.close();
    const pause = this.state === "live" ? LOOK : POLL;
    if (Date.now() - (this.synced || 0) > pause) this.sync();
  }

  // Batch the hints: many of them become one fetch of the whole list.
  want(id) {
    if (this.questions.has(id)) return;
    this.wanted.add(id);
    this.fetchSoon();
  }

  // One fetch at a time: a response that overtakes another would put the newer question first.
  fetchSoon() {
    if (this.fetching || !this.wanted.size) return;
    this.fetching = true;
    setTimeout(() => this.fetchWanted(), 15);
  }

  async fetchWanted() {
    const ids = [...this.wanted];
    this.wanted.clear();
    try {
      await (ids.length > 8 ? this.sync() : this.fetchEach(ids));
    } catch {
      this.sync();
    } finally {
      this.fetching = false;
      this.fetchSoon();
    }
  }

  async fetchEach(ids) {
    const found = await Promise.all(ids.map((id) => get(`/api/permissions/${encodeURIComponent(id)}`)));
    const fresh = found.filter((each) => each.status === "pending" && !this.questions.has(each.id) && !this.gone?.has(each.id));
    for (const each of fresh) this.questions.set(each.id, { ...each, arrived: Date.now() });
    if (fresh.length) this.changed({ added: fresh.map((each) => each.id), removed: [] });
  }

  end(id, outcome) {
    this.wanted.delete(id);
    (this.gone ||= new Map()).set(id, Date.now());
    const question = this.questions.get(id);
    if (!question) return;
    this.questions.delete(id);
    this.ended(question, outcome);
    this.changed({ added: [], removed: [id] });
  }

  async sync() {
    if (this.syncing) {
      this.again = true;
      return;
    }
    this.syncing = true;
    this.synced = Date.now();
    try {
      await this.compare();
      if (this.state === "unreachable" || this.state === "connecting") this.become(this.socket?.readyState === 1 ? "live" : "polling");
    } catch (error) {
      if (error.status === 0) this.become("unreachable");
    } finally {
      this.syncing = false;
      if (this.again) {
        this.again = false;
        setTimeout(() => this.sync(), 50);
      }
    }
  }

  async compare() {
    const began = Date.now();
    const seen = new Set();
    let cursor;
    do {
      const page = await get("/api/permissions", { details: "true", limit: 200, cursor });
      const [added, updated] = [[], []];
      for (const question of page.pending) {
        seen.add(question.id);
        if (this.gone?.has(question.id)) continue;
        if (!this.questions.has(question.id)) added.push(question.id);
        const known = this.questions.get(question.id);
        if (known && known.callerGone !== question.callerGone) updated.push(question.id);
        if (known) Object.assign(known, question);
        else this.questions.set(question.id, { ...question, arrived: Date.now() });
      }
      const first = !this.loaded;
      this.loaded = true;
      if (added.length || updated.length || first) this.changed({ added, removed: [], updated, first });
      cursor = page.cursor;
    } while (cursor);
    const removed = [...this.questions.values()].filter((each) => !seen.has(each.id) && each.arrived < began).map((each) => each.id);
    for (const id of removed) this.questions.delete(id);
    if (removed.length) this.changed({ added: [], removed });
    for (const [id, at] of this.gone || []) if (began - at > 60000) this.gone.delete(id);
  }
}
