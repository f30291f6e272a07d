// Tell the user about new questions: page title, notification, sound. A failure here must not break the page.

import { byId, h, toast } from "./dom.js";
import { brief, plain } from "./text.js";

const STORAGE_KEY = "assent";
let audio;

// Settings of this browser, none of them secret. Without local storage they last until the page is closed.
const preferences = read();

function read() {
  try {
    return { ...JSON.parse(localStorage.getItem(STORAGE_KEY)) };
  } catch {
    return {};
  }
}

function prefer(name, value) {
  preferences[name] = value;
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify({ notify: Boolean(preferences.notify), sound: Boolean(preferences.sound) }));
  } catch {
    toast("This browser can't save the setting; it lasts until you close the page.");
  }
}

const isLooking = () => document.visibilityState === "visible" && document.hasFocus();
const mayNotify = () => "Notification" in window && Notification.permission === "granted";

// Announce new questions as the settings say; a click on the notification calls `open` with the question.
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

// Some browsers, mostly on phones, have the constructor but throw when it is called.
function notify(title, body) {
  try {
    return new Notification(title, { body, tag: "assent", icon: "/assets/icon.svg", renotify: true });
  } catch {
    return null;
  }
}

// The audio context; null where the browser has none.
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

// Browsers play no sound before the first click or key.
for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, () => preferences.sound && wake(), { once: true, capture: true });

async function askToNotify() {
  const granted = "Notification" in window && (await Notification.requestPermission()) === "granted";
  const shown = granted && notify("Assent", "Notifications look like this.");
  if (!shown) toast("This browser blocks notifications from this page.", { bad: true });
  return Boolean(shown);
}

function askToSound() {
  beep();
  return true;
}

function toggle(label, name, on, ask) {
  const box = h("input", { type: "checkbox", checked: on });
  box.addEventListener("change", async () => {
    const enabled = box.checked && (await ask());
    box.checked = enabled;
    prefer(name, enabled);
  });
  return h("label", { class: "check" }, box, " ", label);
}

export const notificationSettings = () => [toggle("Notify me", "notify", Boolean(preferences.notify) && mayNotify(), askToNotify), toggle("Sound", "sound", Boolean(preferences.sound), askToSound)];

// Show the number of pending questions in the page title and the navigation.
export function badge(number, page) {
  document.title = `${number ? `(${number}) ` : ""}${page} · Assent`;
  const mark = byId("badge");
  if (!mark) return;
  mark.textContent = number ? (number > 999 ? "999+" : String(number)) : "";
  mark.hidden = !number;
}
