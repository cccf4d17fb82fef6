// The hidden states of two sentences, a row a layer; one of the second crosses over to the first.

import { Palette } from "../canvas/paint.js";
import { cutToWidth } from "../canvas/dom.js";
import { percent } from "../canvas/numbers.js";
import { NARROW } from "./dark.js";

/** @import { ActStates, ActValues } from "./types.js" */

const [NAMES, CELL_GAP, APART, ARCH] = [30, 4, 60, 44];
const MOST_CELL = 74;

export class Crossing {
  /** @type {Palette} */
  palette;
  /** @type {ShownTheme} */
  theme;

  /** @param {ActValues} act @param {ActStates} states */
  constructor(act, states) {
    this.act = act;
    this.states = states;
  }

  /** Takes the colours. @param {ShownTheme} theme */
  take(theme) {
    this.theme = theme;
    this.palette = new Palette(theme, 1);
  }

  /** The height that it takes of some room. @type {(width: number, room: number) => number} */
  height(width, room) {
    const rows = this.states.stages.length;
    return width < NARROW ? 2 * (rows * 30 + NAMES + 20) : Math.min(room, rows * 84 + NAMES + ARCH);
  }

  /** @type {(context: Context, width: number, height: number, at: number, come: number) => void} */
  draw(context, width, height, at, come) {
    const { act, states, theme } = this;
    const { stages, first, second } = states;
    const stage = act.frames[at].stage;
    const isNew = at > 0 && act.frames[at - 1].stage !== stage;
    const share = isNew ? come : 1;
    const narrow = width < NARROW;
    const label = 14 + Math.max(...stages.map((name) => context.measureText(name).width));
    const room = narrow ? width - label : (width - label - APART) / 2;
    const cell = { width: Math.min(MOST_CELL, room / Math.max(first.length, second.length)), height: ((narrow ? height / 2 : height) - NAMES - (narrow ? 12 : ARCH)) / stages.length };
    const ahead = narrow ? 0 : (room - cell.width * first.length) / 2;
    const top = narrow ? 6 : ARCH;
    /** Corners of both sentences. @type {[x: number, y: number][]} */
    const corners = narrow ? [[label, top], [label, top + height / 2]] : [[label + ahead, top], [label + room + APART, top]];
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.fillStyle = theme.muted;
    stages.forEach((name, row) => {
      const y = top + (stages.length - 1 - row + 0.5) * cell.height;
      context.fillText(name, corners[0][0] - 10, y);
      if (narrow && stage) context.fillText(name, label - 10, y + height / 2);
    });
    this._sentence(context, first, corners[0], cell, stage === 3 ? share : 0, false);
    if (!stage) return;
    context.globalAlpha = stage === 1 ? share : 1;
    this._sentence(context, second, corners[1], cell, 0, true);
    context.globalAlpha = 1;
    if (stage < 2) return;
    const [row, to, from] = states.at;
    const middle = (/** @type {number} */ side, /** @type {number} */ token) => [
      corners[side][0] + (token + 0.5) * cell.width,
      corners[side][1] + (stages.length - 0.5 - row) * cell.height,
    ];
    const [[x, y], [ends, falls]] = [middle(1, from), middle(0, to)];
    const along = stage === 2 && isNew ? share : 1;
    const lift = narrow ? 0 : ARCH + 0.5 * cell.height - 8;
    context.strokeStyle = context.fillStyle = theme.now;
    context.lineWidth = 3;
    /** @type {(share: number) => [x: number, y: number]} */
    const point = (part) => [x + (ends - x) * part, y + (falls - y) * part - lift * Math.sin(Math.PI * part)];
    context.globalAlpha = stage === 3 ? 1 - 0.7 * share : 1;
    context.beginPath();
    for (let part = 0; part <= 40; part++) context.lineTo(...point((part / 40) * along));
    context.stroke();
    if (stage === 2) {
      context.beginPath();
      context.arc(...point(along), 7, 0, 7);
      context.fill();
    }
    context.globalAlpha = 1;
    const mark = (/** @type {number} */ side, /** @type {number} */ token) => {
      const [left, above] = corners[side];
      context.strokeRect(left + token * cell.width + 1, above + (stages.length - 1 - row) * cell.height + 1, cell.width - CELL_GAP - 2, cell.height - CELL_GAP - 2);
    };
    mark(1, from);
    if (along === 1) mark(0, to);
  }

  /** One sentence's states; coloured as far as the probabilities have come.
   * @type {(context: Context, tokens: string[], corner: [number, number], cell: { width: number, height: number }, coloured: number, isSecond: boolean) => void} */
  _sentence(context, tokens, [left, top], cell, coloured, isSecond) {
    const { stages, shares } = this.states;
    const { theme, palette } = this;
    const before = context.globalAlpha;
    tokens.forEach((token, place) => {
      const x = left + place * cell.width;
      for (let row = 0; row < stages.length; row++) {
        const y = top + (stages.length - 1 - row) * cell.height;
        const share = isSecond ? -1 : shares[row * tokens.length + place];
        context.globalAlpha = before * (isSecond ? 0.28 : 0.16);
        context.fillStyle = isSecond ? theme.now : theme.accent;
        context.fillRect(x, y, cell.width - CELL_GAP, cell.height - CELL_GAP);
        if (coloured && share >= 0) {
          const step = palette.stepOf(255 * share);
          context.globalAlpha = before * coloured;
          context.fillStyle = `rgb(${palette.steps[step].join()})`;
          context.fillRect(x, y, cell.width - CELL_GAP, cell.height - CELL_GAP);
          if (cell.width > 34 && cell.height > 18) {
            context.fillStyle = palette.ink(step);
            context.textAlign = "center";
            context.fillText(percent(share), x + (cell.width - CELL_GAP) / 2, y + (cell.height - CELL_GAP) / 2);
          }
        }
        context.globalAlpha = before;
      }
      context.fillStyle = theme.text;
      context.textAlign = "center";
      context.fillText(cutToWidth(context, token, cell.width), x + (cell.width - CELL_GAP) / 2, top + stages.length * cell.height + NAMES / 2);
    });
  }
}
