// Positions, close up: the numbers that each place in the sentence adds to its token's vector.

import { rectangle } from "../../canvas/geometry.js";
import { tr } from "../../canvas/wording.js";
import { wavesOf } from "./numbers.js";
import { Pen, bounded, mostOf, sheer } from "./pen.js";

const MOST_CURVES = 6;

/** The table of positions as curves over the sentence. @type {(context: Context, room: Rectangle, data: WavesData, inks: Inks) => Hot[]} */
export function paintWaves(context, room, { tokens, positions, token }, inks) {
  const em = bounded(Math.min(room.width / 30, room.height / 26), 12, 28);
  const pen = new Pen(context, inks, em);
  const box = rectangle(room.left + em, room.top + em, room.width - 2 * em, room.height - 2 * em);
  if (positions.acts) {
    pen.write(tr("Nothing is added here"), box.left, box.top + em, { size: 1.4 * em, weight: 700, width: box.width });
    pen.lines(tr("Self-attention {acts}.", { acts: positions.acts }), rectangle(box.left, box.top + 2.4 * em, Math.min(box.width, 34 * em), box.height));
    return [];
  }
  const turns = wavesOf(positions, tokens.length);
  const title = turns ? tr("Each place has its own mix of waves") : tr("Each place has its own numbers");
  pen.write(title, box.left, box.top + 0.8 * em, { size: 1.35 * em, weight: 700, width: box.width });
  pen.write(tr("They are added to the token’s vector"), box.left, box.top + 2.5 * em, { color: pen.theme.muted, width: box.width });
  const side = turns ? Math.max(pen.wide(tr("fast"), 0.85 * em), pen.wide(tr("slow"), 0.85 * em)) + 0.8 * em : 0;
  const plot = rectangle(box.left + side, box.top + 4 * em, box.width - side, box.height - 4 * em);
  const wide = plot.width / tokens.length;
  const labels = pen.axis(tokens, wide).height;
  const shown = Math.min(positions.dimensions, 14);
  const strip = bounded(0.24 * plot.height, shown * 2, Math.min(shown * 1.1 * em, shown * wide));
  const curves = rectangle(plot.left, plot.top, plot.width, plot.height - labels - strip - 0.6 * em);
  const cells = rectangle(plot.left, plot.bottom - strip, plot.width, strip);
  for (let place = 0; place < tokens.length; place++) {
    const x = plot.left + (place + 0.5) * wide;
    pen.fill(rectangle(x - 0.5, curves.top, 1, curves.height), place === token ? pen.theme.now : sheer(pen.theme.grid, 0.7));
  }
  drawCurves(pen, curves, positions, turns, tokens.length);
  pen.labels(tokens, rectangle(plot.left, curves.bottom, plot.width, labels), token);
  drawCells(pen, cells, positions, tokens.length, token);
  if (turns) {
    const style = { size: 0.85 * em, color: pen.theme.muted };
    const count = Math.min(MOST_CURVES, turns.length);
    pen.write(tr("fast"), box.left, curves.top + curves.height / count / 2, style);
    if (count > 1) pen.write(tr("slow"), box.left, curves.bottom - curves.height / count / 2, style);
  }
  return tokens.map((text, place) => ({
    ...rectangle(plot.left + place * wide, plot.top, wide, plot.height),
    act: { at: "token", token: place },
    label: tr("Place {place}: “{token}”", { place: place + 1, token: text }),
  }));
}

/** One line for every drawn sine, or for every first number of a pair.
 * @type {(pen: Pen, box: Rectangle, positions: FigurePositions, turns: number[] | null, count: number) => void} */
function drawCurves(pen, box, { cells, dimensions }, turns, count) {
  const { context, em, theme } = pen;
  const lines = bounded(Math.floor(dimensions / 2), 1, Math.min(MOST_CURVES, Math.max(1, Math.floor(box.height / (1.4 * em)))));
  const high = box.height / lines;
  const wide = box.width / count;
  const value = (/** @type {number} */ place, /** @type {number} */ line) => cells[place * dimensions + 2 * line] / 127.5 - 1;
  const limit = turns ? 1 : mostOf(Array.from({ length: lines * count }, (_, each) => value(each % count, Math.floor(each / count))));
  for (let line = 0; line < lines; line++) {
    const middle = box.top + (line + 0.5) * high;
    const tall = 0.4 * high;
    pen.rule(box.left, middle, box.right);
    context.strokeStyle = theme.accent;
    context.lineWidth = bounded(em / 8, 1.2, 3.5);
    context.beginPath();
    // Between two tokens, only a wave has values; learned numbers stand alone.
    if (turns) {
      for (let x = 0; x <= box.width; x += 2) context.lineTo(box.left + x, middle - tall * Math.sin(turns[line] * (x / wide - 0.5)));
      context.stroke();
    }
    const dot = bounded(wide * 0.16, 1.5, em / 3.2);
    for (let place = 0; place < count; place++) {
      const [x, y] = [box.left + (place + 0.5) * wide, middle - (tall * value(place, line)) / limit];
      if (!turns) pen.fill(rectangle(x - dot / 3, Math.min(y, middle), (2 * dot) / 3, Math.abs(y - middle)), theme.accent);
      context.fillStyle = theme.accent;
      context.beginPath();
      context.arc(x, y, dot, 0, 2 * Math.PI);
      context.fill();
    }
  }
}

/** What is added to each token, as a column of cells.
 * @type {(pen: Pen, box: Rectangle, positions: FigurePositions, count: number, token: number) => void} */
function drawCells(pen, box, { cells, dimensions }, count, token) {
  const { context, signed, theme } = pen;
  const [wide, high] = [box.width / count, box.height / dimensions];
  const gap = bounded(wide * 0.12, 0, 8);
  for (let place = 0; place < count * dimensions; place++) {
    const [row, column] = [place % dimensions, Math.floor(place / dimensions)];
    context.fillStyle = signed[cells[place]];
    context.fillRect(box.left + column * wide + gap / 2, box.top + row * high, wide - gap, high - (high > 5 ? 1 : 0) + (high > 5 ? 0 : 0.4));
  }
  if (token >= 0) pen.frame(rectangle(box.left + token * wide, box.top, wide, box.height), theme.now, bounded(pen.em / 7, 1.5, 4));
}
