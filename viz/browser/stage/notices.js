// Room on stage for what has to be said above the picture, which would else be covered.

const ROOM = "--stage-notices";
const NOTICES = "[data-testid=stMain] :is(.st-key-notices, [data-testid=stAlert])";
const WITHIN = ".st-key-picture, .st-key-stage-text";

/** Keeps the height of notices above the picture in a variable of the page, which its style sheet reads. */
export class NoticeRoom {
  /** @type {Element[]} */
  notices = [];

  constructor() {
    this.resized = new ResizeObserver(() => this._measure());
    this.changed = new MutationObserver(() => this._watch());
    this.changed.observe(document.querySelector("[data-testid=stMain]") ?? document.body, { childList: true, subtree: true });
    this.room = 0;
    this._watch();
  }

  dispose() {
    this.changed.disconnect();
    this.resized.disconnect();
    document.documentElement.style.removeProperty(ROOM);
  }

  _watch() {
    const found = [...document.querySelectorAll(NOTICES)].filter((each) => !each.closest(WITHIN));
    if (found.length === this.notices.length && found.every((each, place) => each === this.notices[place])) return;
    this.notices = found;
    this.resized.disconnect();
    for (const each of found) this.resized.observe(each);
    this._measure();
  }

  _measure() {
    const boxes = this.notices.map((each) => each.getBoundingClientRect()).filter(({ height }) => height);
    const room = Math.ceil(Math.max(0, ...boxes.map(({ bottom }) => bottom)));
    if (room === this.room) return;
    this.room = room;
    document.documentElement.style.setProperty(ROOM, `${room}px`);
    // Pictures are as high as the room that is left.
    window.dispatchEvent(new Event("resize"));
  }
}
