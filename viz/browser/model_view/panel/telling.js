// What is selected among all heads, told: to Python, to the translation above the page, and to the foot of a stage.

import constants from "../../../draw/constants.json" with { type: "json" };
import { SHOWN_EVENT } from "../../canvas/page.js";
import { tell } from "../../canvas/shared.js";
import { titleOf } from "../head_words.js";
import { shownHeads } from "../how.js";
import { chosenSpelled } from "./chosen.js";

const SELECTION_PAUSE = 120;

export class Telling {
  /** @type {string | null} */
  reported = null;
  lastTold = -Infinity;
  /** @type {string | undefined} */
  toldOff;
  /** @type {number | undefined} */
  waiting;

  /** @param {Teller} of - whose selection it is. */
  constructor(of) {
    this.of = of;
  }

  dispose() {
    clearTimeout(this.waiting);
  }

  /** Notes what Python asked for itself, so that it is not told. @param {Chosen} asked */
  knows(asked) {
    this.reported = JSON.stringify({ ...chosenSpelled(asked), width: "wide" });
  }

  /** Tells the foot of the stage which heads are shown, and marks them on its map. */
  foot() {
    const { payload, state } = this.of;
    const { attention, layer, head, compare } = state;
    const kind = payload.kind(attention);
    const label = compare.length > 1 ? null : payload.facts(attention, layer, head)?.label;
    const text = [titleOf(kind, state), label].filter(Boolean).join(" – ");
    const detail = { text, map: { layers: kind.layers.length, heads: kind.heads, at: shownHeads(state) } };
    document.dispatchEvent(new CustomEvent(SHOWN_EVENT, { detail }));
  }

  /** Lets the translation above the page know which heads are off, before Python does. */
  off() {
    const off = this.of.state.off.join("-");
    if (this.of.canAskPython && off !== this.toldOff) tell("off", (this.toldOff = off));
  }

  _selection() {
    const room = this.of.root.clientWidth;
    const width = room < constants.NARROW ? "narrow" : room < constants.SIDE_BY_SIDE ? "middle" : "wide";
    return { ...chosenSpelled(this.of.state), width };
  }

  /** Reports the selection to Python after a pause: several quick steps make one report. */
  report() {
    if (JSON.stringify(this._selection()) === this.reported) return;
    clearTimeout(this.waiting);
    const pause = Math.max(0, this.lastTold + SELECTION_PAUSE - performance.now());
    // After the paint: the message must not delay the picture.
    this.waiting = setTimeout(() => {
      const selection = this._selection();
      this.reported = JSON.stringify(selection);
      this.lastTold = performance.now();
      this.of.report({ ...selection, epoch: this.of.epoch });
    }, pause);
  }
}
