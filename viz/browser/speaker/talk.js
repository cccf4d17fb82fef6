// This window's talk: keys on stage, talks stored in the browser, and the notes window.

import { mounted } from "../canvas/mount.js";
import { storage } from "../canvas/stored.js";
import { asked, sceneAsked } from "./keys.js";
import { hideRing, noteClick } from "./rings.js";
import { joinSteps } from "./steps.js";

/* global NOTES -- the address of the notes relative to the page, defined by speaker.py ahead of this script. */

const PREFIX = "headscope-talk-";
const WINDOW = "headscope-window";
const FOLLOWED = "headscope-followed";
// Milliseconds until an unanswered move is sent again; doubled each time, because every message restarts a slow page,
// which would otherwise never finish.
const AGAIN = 500;
const TYPING = "input, textarea, select, [contenteditable], [role=textbox], [role=combobox]";
const PRESSED = "button, a, summary, [role=button], [role=menuitem], [role=option]";

/** Whether this page is the preview of the next scene in the notes window. */
const AHEAD = window.frameElement?.id === "headscope-ahead";

function windowName() {
  const kept = storage("sessionStorage");
  const made = kept?.getItem(WINDOW) ?? `headscope-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`;
  try {
    kept?.setItem(WINDOW, made);
  } catch {
    // Without storage, the name lasts until the page reloads.
  }
  return made;
}

/** The last move: its number and, until Python has confirmed it, its scene. It survives a change of page. */
function moves() {
  window.headscopeMoves ??= { told: 0, wanted: null };
  return window.headscopeMoves;
}

/** Whether a window shows the notes; it may also be empty, or show the browser's own page about an error.
 * @type {(opened: Window) => boolean} */
function isNotes(opened) {
  try {
    return opened.document.getElementById("headscope-notes") !== null;
  } catch {
    return false;
  }
}

/**
 * @typedef {object} Data
 * @property {boolean} on - whether the stage is.
 * @property {boolean} read - whether the talk is read.
 * @property {number} heard - the last move that Python knows.
 * @property {string} visit
 * @property {boolean} waiting
 * @property {Record<string, string | null>} keep - talks to store, null for one to forget.
 * @property {string | null} followed
 * @property {number} number
 * @property {number} count
 * @property {string} title
 * @property {string} note
 * @property {object | null} next
 */

class Talk {
  /** @type {Data} */
  data;
  /** @type {Trigger} */
  tell;
  visit = "";
  away = false;
  looked = "";
  /** @type {number | undefined} */
  waiting;
  /** @type {Map<string, string | null>} */
  kept = new Map();

  constructor() {
    joinSteps();
    this.look = () => this._look();
    window.addEventListener("headscope-look", this.look);
    this.name = windowName();
    this.channel = new BroadcastChannel(AHEAD ? `${this.name}-ahead` : this.name);
    this.channel.onmessage = ({ data }) => this._hear(data);
    this.press = (/** @type {KeyboardEvent} */ event) => this._press(event);
    this.open = (/** @type {{ detail: { blocked?: boolean } }} */ event) => this._open(event);
    this.step = (/** @type {CustomEvent<number>} */ event) => this._go({ step: event.detail });
    this.wander = (/** @type {CustomEvent<boolean>} */ event) => this._wander(event.detail);
    this.walk = () => this.data && this._show();
    this.leave = () => this.channel.postMessage({ left: true });
    this.hide = (/** @type {KeyboardEvent} */ event) => hideRing(event, Boolean(this.data?.on));
    window.addEventListener("pointerup", noteClick, true);
    window.addEventListener("keydown", this.hide, true);
    document.addEventListener("keydown", this.press);
    window.addEventListener("headscope-notes", this.open);
    window.addEventListener("headscope-step", this.step);
    window.addEventListener("headscope-left", this.wander);
    window.addEventListener("headscope-walk", this.walk);
    window.addEventListener("pagehide", this.leave);
  }

  dispose() {
    window.removeEventListener("pointerup", noteClick, true);
    window.removeEventListener("keydown", this.hide, true);
    document.removeEventListener("keydown", this.press);
    window.removeEventListener("headscope-notes", this.open);
    window.removeEventListener("headscope-step", this.step);
    window.removeEventListener("headscope-left", this.wander);
    window.removeEventListener("headscope-walk", this.walk);
    window.removeEventListener("pagehide", this.leave);
    window.removeEventListener("headscope-look", this.look);
    clearTimeout(this.waiting);
    this.leave();
    this.channel.close();
  }

  /** @type {(data: Data, _: Reporter, tell: Trigger) => void} */
  update(data, _, tell) {
    this.data = data;
    this.tell = tell;
    this._hearOfMoves(data.heard);
    this._look();
    this._keep(data.keep);
    this._keepFollowed(data.followed);
    if (data.visit !== this.visit) this._restore();
    this._show();
  }

  // ---- stored talks -----------------------------------------------------------------------------

  _restore() {
    this.visit = this.data.visit;
    const kept = storage("localStorage");
    const names = kept ? Object.keys(kept).filter((name) => name.startsWith(PREFIX)) : [];
    const talks = names.map((name) => [name.slice(PREFIX.length), kept?.getItem(name)]);
    if (talks.length || this.data.waiting) this.tell("kept", talks);
    const followed = storage("sessionStorage")?.getItem(FOLLOWED);
    // A window opened from this one has a copy of what this one keeps, and phones follow one speaker.
    if (followed && this.data.followed === null && !AHEAD) this.tell("followed", followed);
  }

  /** @type {(secret: string | null) => void} */
  _keepFollowed(secret) {
    if (secret === null || AHEAD) return;
    try {
      storage("sessionStorage")?.setItem(FOLLOWED, secret);
    } catch {
      // Without storage, it lasts until the page reloads.
    }
  }

  /** @type {(talks: Data["keep"]) => void} */
  _keep(talks) {
    const kept = storage("localStorage");
    for (const [mark, text] of Object.entries(talks)) {
      if (this.kept.get(mark) === text) continue;
      this.kept.set(mark, text);
      try {
        if (!kept) throw new Error("no storage");
        if (text === null) kept.removeItem(PREFIX + mark);
        else kept.setItem(PREFIX + mark, text);
      } catch {
        this.tell("full", mark);
      }
    }
  }

  // ---- moving among scenes ----------------------------------------------------------------------

  /** @type {(event: KeyboardEvent) => void} */
  _press(event) {
    if (!(this.data?.on || this.data?.read) || AHEAD || event.defaultPrevented) return;
    const path = event.composedPath().filter((each) => each instanceof Element);
    if (path.some((each) => each.matches(TYPING))) return;
    if (event.key === " " && path.some((each) => each.matches(PRESSED))) return;
    // When a talk is read, other keys keep their usual meaning.
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

  /** @type {(wish: Wish) => void} */
  _go({ number, step }) {
    // Who walks through the model goes from stop to stop; a reader's keys lead among scenes.
    if (step && window.headscopeWalk && !this.data.read) {
      window.dispatchEvent(new CustomEvent("headscope-walk-step", { detail: step }));
      return;
    }
    // A key may be pressed before the previous key's scene is loaded.
    const { count, heard, number: shown } = this.data;
    const from = moves().wanted ?? shown;
    const to = sceneAsked({ number, step }, from, count);
    if (to === null) return;
    Object.assign(moves(), { told: Math.max(moves().told, heard) + 1, wanted: to });
    // Counts as an action even if the key was pressed in the notes window.
    window.dispatchEvent(new Event("headscope-act"));
    this._tellMove();
  }

  /** Sends the move until Python confirms it: Streamlit drops messages while another page opens.
   * @type {(wait?: number) => void} */
  _tellMove(wait = AGAIN) {
    clearTimeout(this.waiting);
    if (moves().wanted === null) return;
    this.tell("go", [moves().told, moves().wanted]);
    this.waiting = setTimeout(() => this._tellMove(2 * wait), wait);
  }

  /** @type {(heard: number) => void} */
  _hearOfMoves(heard) {
    if (heard >= moves().told) moves().wanted = null;
    if (moves().wanted === null) clearTimeout(this.waiting);
    else if (!this.waiting) this.waiting = setTimeout(() => this._tellMove(), AGAIN);
  }

  /** Shows the view that the notes window requests for its preview. */
  _look() {
    const wish = JSON.stringify(window.headscopeLook);
    if (!AHEAD || !this.data || wish === undefined || wish === this.looked) return;
    this.looked = wish;
    this.tell("look", window.headscopeLook);
  }

  // ---- the notes --------------------------------------------------------------------------------

  /** @type {(event: { detail: { blocked?: boolean } }) => void} */
  _open(event) {
    // An open notes window is kept, even if this page was reloaded.
    const notes = window.open("", this.name, "popup,width=900,height=700");
    event.detail.blocked = !notes;
    if (!notes) return;
    if (!isNotes(notes)) notes.location.replace(new URL(NOTES, document.baseURI).href);
    notes.focus();
    this._show();
  }

  /** @type {(away: boolean) => void} */
  _wander(away) {
    if (away === this.away) return;
    this.away = away;
    this._show();
  }

  _show() {
    const { number, count, title, note, next } = this.data;
    const root = new URL(location.pathname.replace(/[^/]*$/, ""), location.href).href;
    this.channel.postMessage({ number, count, title, note, next, root, away: Boolean(this.away), walk: window.headscopeWalk ?? null });
  }

  /** @type {(message: { ask?: boolean; go?: boolean } & Wish) => void} */
  _hear(message) {
    if (!this.data) return;
    if (message?.ask) this._show();
    if (message?.number !== undefined && Number.isInteger(message.number) && message.go) this._go({ number: message.number });
    if (message?.step === 1 || message?.step === -1) this._go({ step: message.step });
  }
}

export default mounted(".talk", () => new Talk());
