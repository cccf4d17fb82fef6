// The talk of this window: keys on stage, the talks that the browser keeps, and the window with the notes.

import { mounted } from "../canvas/mount.js";
import { asked, sceneAsked } from "./keys.js";
import { joinSteps } from "./steps.js";

/* global NOTES: the document of the notes, which speaker.py writes before this script. */

const PREFIX = "headscope-talk-";
const WINDOW = "headscope-window";
// Milliseconds until an unanswered move is sent again; each time twice as long, since a page that is slow to answer would
// otherwise be restarted and never finish.
const AGAIN = 500;
const TYPING = "input, textarea, select, [contenteditable], [role=textbox], [role=combobox]";
const PRESSED = "button, a, summary, [role=button], [role=menuitem], [role=option]";

/** Whether this page is the small picture of the next scene, in the window with the notes. */
const AHEAD = window.frameElement?.id === "headscope-ahead";

/** Storage may be forbidden, and even to ask for it then fails. */
function storage(name) {
  try {
    return window[name];
  } catch {
    return null;
  }
}

function windowName() {
  const kept = storage("sessionStorage");
  const made = kept?.getItem(WINDOW) ?? `headscope-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;
  try {
    kept?.setItem(WINDOW, made);
  } catch {
    // The name then lasts until the page is loaded again.
  }
  return made;
}

/** The last move: its number, and the scene it asks for until it was heard. It outlives the page that it leaves. */
function moves() {
  window.headscopeMoves ??= { told: 0, wanted: null };
  return window.headscopeMoves;
}

class Talk {
  constructor() {
    joinSteps();
    this.kept = new Map();
    this.look = () => this._look();
    window.addEventListener("headscope-look", this.look);
    this.name = windowName();
    this.channel = new BroadcastChannel(AHEAD ? `${this.name}-ahead` : this.name);
    this.channel.onmessage = ({ data }) => this._hear(data);
    this.press = (event) => this._press(event);
    this.open = (event) => this._open(event);
    this.step = (event) => this._go({ step: event.detail });
    this.wander = (event) => this._wander(event.detail);
    this.leave = () => this.channel.postMessage({ left: true });
    document.addEventListener("keydown", this.press);
    window.addEventListener("headscope-notes", this.open);
    window.addEventListener("headscope-step", this.step);
    window.addEventListener("headscope-left", this.wander);
    window.addEventListener("pagehide", this.leave);
  }

  dispose() {
    document.removeEventListener("keydown", this.press);
    window.removeEventListener("headscope-notes", this.open);
    window.removeEventListener("headscope-step", this.step);
    window.removeEventListener("headscope-left", this.wander);
    window.removeEventListener("pagehide", this.leave);
    window.removeEventListener("headscope-look", this.look);
    clearTimeout(this.waiting);
    this.leave();
    this.channel.close();
  }

  update(data, _, tell) {
    this.data = data;
    this.tell = tell;
    this._hearOfMoves(data.heard);
    this._look();
    this._keep(data.keep);
    if (data.visit !== this.visit) this._restore();
    this._show();
  }

  // ---- what the browser keeps -------------------------------------------------------------------

  _restore() {
    this.visit = this.data.visit;
    const kept = storage("localStorage");
    const names = kept ? Object.keys(kept).filter((name) => name.startsWith(PREFIX)) : [];
    const talks = names.map((name) => [name.slice(PREFIX.length), kept.getItem(name)]);
    if (talks.length || this.data.waiting) this.tell("kept", talks);
  }

  _keep(talks) {
    const kept = storage("localStorage");
    for (const [mark, text] of Object.entries(talks)) {
      if (this.kept.get(mark) === text) continue;
      this.kept.set(mark, text);
      try {
        if (text === null) kept.removeItem(PREFIX + mark);
        else kept.setItem(PREFIX + mark, text);
      } catch {
        this.tell("full", mark);
      }
    }
  }

  // ---- moving among scenes ----------------------------------------------------------------------

  _press(event) {
    if (!(this.data?.on || this.data?.read) || AHEAD || event.defaultPrevented) return;
    const path = event.composedPath().filter((each) => each instanceof Element);
    if (path.some((each) => each.matches(TYPING))) return;
    if (event.key === " " && path.some((each) => each.matches(PRESSED))) return;
    // A page that is read is scrolled, searched and worked with as any other.
    if (!this.data.on && !["n", "b"].includes(event.key)) return;
    if (event.key === "s" && !event.ctrlKey && !event.altKey && !event.metaKey) {
      this._open({ detail: {} });
      return;
    }
    const wish = asked(event);
    if (!wish) return;
    event.preventDefault();
    this._go(wish);
  }

  _go({ number, step }) {
    // A key may come before the scene of the key before it is there.
    const { count, heard, number: shown } = this.data;
    const from = moves().wanted ?? shown;
    const to = sceneAsked({ number, step }, from, count);
    if (to === null) return;
    Object.assign(moves(), { told: Math.max(moves().told, heard) + 1, wanted: to });
    // Also where the key was pressed in the window with the notes.
    window.dispatchEvent(new Event("headscope-act"));
    this._tellMove();
  }

  /** Streamlit forgets what is told while another page opens: it is told until it was heard. */
  _tellMove(wait = AGAIN) {
    clearTimeout(this.waiting);
    if (moves().wanted === null) return;
    this.tell("go", [moves().told, moves().wanted]);
    this.waiting = setTimeout(() => this._tellMove(2 * wait), wait);
  }

  _hearOfMoves(heard) {
    if (heard >= moves().told) moves().wanted = null;
    if (moves().wanted === null) clearTimeout(this.waiting);
    else if (!this.waiting) this.waiting = setTimeout(() => this._tellMove(), AGAIN);
  }

  /** Shows what the window with the notes asks of the small picture in it. */
  _look() {
    const wish = JSON.stringify(window.headscopeLook);
    if (!AHEAD || !this.data || wish === undefined || wish === this.looked) return;
    this.looked = wish;
    this.tell("look", window.headscopeLook);
  }

  // ---- the notes --------------------------------------------------------------------------------

  _open(event) {
    // An open one stays as it is, also if this page was reloaded meanwhile.
    const notes = window.open("", this.name, "popup,width=900,height=700");
    event.detail.blocked = !notes;
    if (!notes) return;
    if (!notes.document.getElementById("headscope-notes")) {
      // A document of the app's own origin, as a channel between the two windows needs. Its address is never revoked,
      // so that the notes can be loaded again.
      notes.location.replace(URL.createObjectURL(new Blob([NOTES], { type: "text/html" })));
    }
    notes.focus();
    this._show();
  }

  _wander(away) {
    if (away === this.away) return;
    this.away = away;
    this._show();
  }

  _show() {
    const { number, count, title, note, next } = this.data;
    const root = new URL(location.pathname.replace(/[^/]*$/, ""), location.href).href;
    this.channel.postMessage({ number, count, title, note, next, root, away: Boolean(this.away) });
  }

  _hear(message) {
    if (!this.data) return;
    if (message?.ask) this._show();
    if (Number.isInteger(message?.number) && message.go) this._go({ number: message.number });
    if (message?.step === 1 || message?.step === -1) this._go({ step: message.step });
  }
}

export default mounted(".talk", () => new Talk());
