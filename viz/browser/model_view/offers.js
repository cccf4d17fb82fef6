// What may come next, as HTML: the likeliest tokens of a step, with a slider for the temperature.

import { element, classed } from "../canvas/dom.js";
import { percent, signed } from "../canvas/numbers.js";
import { tr } from "../canvas/wording.js";

/** @import { ModelView } from "./view.js" */

export class Offers {
  temperature = -1;

  /** @param {ModelView} view @param {NextTokens[]} steps */
  constructor(view, steps) {
    this.view = view;
    this.steps = steps;
    this.rows = Array.from({ length: Math.max(...steps.map(({ texts }) => texts.length)) }, () => {
      const [text, share, bar] = [element("span", "text", { dir: "auto" }), element("span", "share"), element("span", "bar")];
      return { made: element("span", "offer", {}, bar, text, share), text, share };
    });
    this.button = element("button", "block offers", { type: "button", "aria-label": tr("What comes next: look closer") });
    this.button.append(...this.rows.map(({ made }) => made));
    this.button.addEventListener("click", () => view.enter({ at: "next", step: this.shown }));
    const title = element("h3", "title", {}, tr("What comes next"));
    const notes = [element("span", "note", {}, tr("linear + softmax")), ...this._slider()];
    const { norm } = view.figure;
    if (norm) notes.push(element("span", "note norm", {}, norm === "pre" ? tr("norm, then the block, then add") : tr("the block, then add & norm")));
    this.made = element("section", "next", { "aria-label": tr("What comes next") }, title, this.button, ...notes);
  }

  /** The step whose tokens are shown, or come next. */
  get shown() {
    return Math.max(0, this.view.timeline.at(this.view.time).step);
  }

  /** A slider that shows the probabilities at another temperature. */
  _slider() {
    const temperatures = this.view.figure.offeredTemperatures;
    this.temperature = temperatures.indexOf(1);
    if (this.temperature < 0) return [];
    const slider = element("input", "", {
      type: "range", min: "0", max: String(temperatures.length - 1), step: "1", "aria-label": tr("Temperature"),
    });
    slider.value = String(this.temperature);
    const said = element("output", "", { "aria-hidden": "true" });
    const show = () => {
      this.temperature = Number(slider.value);
      said.textContent = signed(temperatures[this.temperature]);
      slider.setAttribute("aria-valuetext", said.textContent);
    };
    slider.addEventListener("input", () => {
      show();
      this.view.draw();
    });
    show();
    const label = element("label", "note temperature", {}, element("span", "", {}, tr("Temperature"), " ", said), slider);
    label.title = `${tr("Divides the logits before the softmax: below 1 sharper, above 1 flatter")} (${tr("a view only: the translation stays")})`;
    return [label];
  }

  /** @type {(moment: Moment) => void} */
  draw(moment) {
    const { view, steps } = this;
    // The previous step's candidates stay, faded, until the next ones come.
    const { followed, figure } = view;
    const follows = followed?.side === "target" && followed.to <= steps.length;
    const writes = follows || moment.phase === "write";
    const number = follows ? followed.to - 1 : moment.step - (writes ? 0 : 1);
    const step = steps[Math.max(0, number)];
    const share = writes && !follows ? 1 - (1 - moment.share) ** 3 : 1;
    // Where the slider has no room, nothing would say the temperature.
    const usual = this.temperature < 0 || view.narrow || figure.stage || view.filmed;
    const shares = usual ? step.shares : figure.sharesAt(step, this.temperature);
    this.rows.forEach(({ made, text, share: percents }, place) => {
      const offered = number >= 0 && place < step.texts.length;
      classed(made, "chosen", offered && place === step.chosen);
      const opacity = offered ? (writes ? 0.3 + 0.7 * share : 0.3).toFixed(2) : "0";
      if (made.style.opacity !== opacity) made.style.opacity = opacity;
      if (!offered) return;
      if (text.textContent !== step.texts[place]) text.textContent = step.texts[place];
      const said = chance(shares[place]);
      if (percents.textContent !== said) percents.textContent = said;
      const wide = (shares[place] * share).toFixed(3);
      if (made.style.getPropertyValue("--share") !== wide) made.style.setProperty("--share", wide);
    });
  }
}

/** @type {(share: number) => string} */
function chance(share) {
  return share < 0.01 ? `< ${percent(0.01)}` : percent(Math.min(0.99, share));
}
