// Calling somebody who looks elsewhere: the title, and a notification or a sound for who wishes. None may break the page.

import { byId, h, toast } from "./dom.js";
import { brief, plain } from "./text.js";

const KEPT = "assent";
let audio;

// Wishes of this browser, none of them secret. Where nothing can be kept, they last as long as the page.
const preferences = read();

function read() {
  try {
    return { ...JSON.parse(localStorage.getItem(KEPT)) };
  } catch {
    return {};
  }
}

function prefer(name, value) {
  preferences[name] = value;
  try {
    localStorage.setItem(KEPT, JSON.stringify({ notify: Boolean(preferences.notify), sound: Boolean(preferences.sound) }));
  } catch {
    toast("This browser keeps nothing: it holds until the page is closed.");
  }
}

const isLooking = () => document.visibilityState === "visible" && document.hasFocus();
const mayNotify = () => "Notification" in window && Notification.permission === "granted";

// Tells of new questions to whoever wished for it; `open` is called with the one that is clicked.
export function announce(questions, open) {
  if (preferences.sound) beep();
  if (!preferences.notify || isLooking() || !mayNotify()) return;
  const [first] = questions;
  const more = questions.length > 1 ? ` and ${questions.length - 1} more` : "";
  const note = notify(`${plain(first.agentId || "An agent")} asks${more}`, plain(brief(first.command || first.toolName, 200)));
  if (!note) return;
  note.onclick = () => {
    window.focus();
    note.close();
    open(first);
  };
}

// Some browsers, on phones above all, have the word and refuse the deed.
function notify(title, body) {
  try {
    return new Notification(title, { body, tag: "assent", icon: "/assets/icon.svg", renotify: true });
  } catch {
    return null;
  }
}

// Gives what sounds are played with; nothing where there is none, which is no reason to lose a question.
function wake() {
  try {
    audio ||= new AudioContext();
    if (audio.state === "suspended") audio.resume();
    return audio;
  } catch {
    return null;
  }
}

function beep() {
  if (!wake()) return;
  const [tone, volume] = [audio.createOscillator(), audio.createGain()];
  tone.frequency.value = 660;
  volume.gain.setValueAtTime(0.08, audio.currentTime);
  volume.gain.exponentialRampToValueAtTime(0.0001, audio.currentTime + 0.25);
  tone.connect(volume).connect(audio.destination);
  tone.start();
  tone.stop(audio.currentTime + 0.25);
}

// A browser plays nothing before the page was touched: from then on it can.
for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, () => preferences.sound && wake(), { once: true, capture: true });

async function askToNotify() {
  const granted = "Notification" in window && (await Notification.requestPermission()) === "granted";
  const shown = granted && notify("Assent", "Questions are told of like this while you look elsewhere.");
  if (!shown) toast("This browser does not permit notifications from this page.", { bad: true });
  return Boolean(shown);
}

function askToSound() {
  beep();
  return true;
}

function toggle(label, name, on, ask) {
  const box = h("input", { type: "checkbox", checked: on });
  box.addEventListener("change", async () => {
    const wished = box.checked && (await ask());
    box.checked = wished;
    prefer(name, wished);
  });
  return h("label", { class: "check" }, box, " ", label);
}

export const wishes = () => [toggle("Notify me", "notify", Boolean(preferences.notify) && mayNotify(), askToNotify), toggle("Sound", "sound", Boolean(preferences.sound), askToSound)];

// The title says how many wait, also where the tab is not seen.
export function badge(number, page) {
  document.title = `${number ? `(${number}) ` : ""}${page} · Assent`;
  const mark = byId("badge");
  if (!mark) return;
  mark.textContent = number ? (number > 999 ? "999+" : String(number)) : "";
  mark.hidden = !number;
}
