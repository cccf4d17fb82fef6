// What is drawn over the figure: residual connections, arcs, the ways between stacks, and that of a followed token.

import { fitted } from "../canvas/dom.js";
import { FAINT, below, between, partOf, strength } from "./curves.js";

/** @import { ModelView } from "./view.js" */

const BESIDE_BLOCK = 4.5;
const ABOVE_BLOCK = 3.5;

/** Draws the residual connections, past every block to where its output is added; they never change.
 * @type {(view: ModelView, width: number, height: number) => void} */
export function drawResidual(view, width, height) {
  const { context, density } = fitted(view.underlay, width, height);
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, width, height);
  context.strokeStyle = context.fillStyle = view.inks.way;
  context.lineWidth = 1.5;
  for (const { blocks } of view.places.stacks.flatMap(({ layers }) => layers)) {
    blocks.forEach(({ left, right, top, height: tall }, place) => {
      const [from, to, middle] = [left - BESIDE_BLOCK, right + BESIDE_BLOCK, top + tall / 2];
      const next = blocks[place + 1];
      context.beginPath();
      rounded(context, [[left, middle], [from, middle], [from, top - ABOVE_BLOCK], [to, top - ABOVE_BLOCK], [to, middle]], 4);
      context.moveTo(right, middle);
      context.lineTo(next && next.top === top ? next.left - BESIDE_BLOCK : to, middle);
      context.stroke();
      context.beginPath();
      context.arc(to, middle, 2.6, 0, 7);
      context.fill();
    });
  }
}

/** Draws arcs, the ways into and between stacks, and that of a followed token.
 * @type {(view: ModelView, moment: Moment, done: boolean) => void} */
export function drawOver(view, moment, done) {
  const { context, density } = view.overlaid;
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, ...view.overlaySize);
  context.lineCap = context.lineJoin = "round";
  drawWays(view, context, moment, done);
  drawFollowed(view, context);
  drawArcs(view, context, moment, done);
}

/** The way of a followed token: up its stack, past every layer, and for a written one to what comes next.
 * @type {(view: ModelView, context: Context) => void} */
function drawFollowed(view, context) {
  const { followed, places, figure, inks } = view;
  if (!followed) return;
  view.stacks.forEach(({ stack, tokens }, number) => {
    if (stack.side !== followed.side || followed.from >= tokens.length) return;
    const place = places.stacks[number];
    const chip = view.within(tokens[followed.from]);
    const middle = Math.min(Math.max(chip.left + chip.width / 2, place.chips.left), place.chips.right);
    const [x, top] = [place.box.left + 5, place.layers[place.layers.length - 1].row];
    const start = place.chips.top - 1;
    /** @type {Point[]} */
    const points = [[middle, start], [middle, start - 5], [x, start - 5], [x, top.top + top.height / 2]];
    context.globalAlpha = 0.9;
    context.strokeStyle = context.fillStyle = inks.theme.text;
    context.lineWidth = 1.75;
    context.beginPath();
    rounded(context, points);
    context.stroke();
    for (const { row } of place.layers) {
      context.beginPath();
      context.arc(x, row.top + row.height / 2, 3.2, 0, 7);
      context.fill();
    }
    if (stack !== figure.decoder || !places.next || view.narrow) return;
    const y = place.box.top;
    context.beginPath();
    rounded(context, [[x, top.top + top.height / 2], [x, y + 4], [place.box.right - 4, y + 4], [place.box.right - 4, places.next.top + 12], [places.next.left - 3, places.next.top + 12]]);
    context.stroke();
  });
  context.globalAlpha = 1;
}

/** @type {(view: ModelView, context: Context, moment: Moment, done: boolean) => void} */
function drawArcs(view, context, moment, done) {
  const { figure, places, inks } = view;
  if (view.headline.isLong) return;
  const frame = figure.arcs.frames > 1 ? Math.min(figure.arcs.frames - 1, Math.max(0, Math.ceil(moment.encoded) - 1)) : 0;
  const onWritten = view.followedWords(figure.writtenSide);
  const onRead = figure.rows === 2 ? view.followedWords("source") : new Set();
  const follows = onWritten.size + onRead.size > 0;
  // Many words stand close together.
  const beside = view.width / Math.max(figure.written.length, figure.read.length);
  const widest = Math.max(2.5, Math.min(view.narrow ? 6 : figure.stage ? 11 : 8, beside * 0.16));
  figure.written.forEach((word, w) => {
    const last = word.first + word.tokens.length - 1;
    const share = figure.decoder ? view.shareOf(moment, last) : 1;
    if (share <= 0) return;
    const isNow = figure.decoder && !done && word.first <= moment.step && moment.step <= last;
    figure.read.forEach((_, r) => {
      const weight = figure.arc(frame, w, r);
      if (weight < FAINT || (figure.rows === 1 && w === r)) return;
      const lit = onWritten.has(w) || onRead.has(r);
      const [from, to] = [places.written[w], places.read[r]];
      // Between two texts, not across their lines.
      const [startY, endY] = figure.rows === 2 ? [places.writtenEnd + 1, places.readStart - 1] : [from.bottom + 1, to.bottom + 1];
      /** @type {Point} */
      const start = [from.left + from.width / 2, startY];
      /** @type {Point} */
      const end = [to.left + to.width / 2, endY];
      const whole = figure.rows === 2 ? between(start, end) : below(start, end, view.gap);
      const [a, b, c, d] = share < 1 ? partOf(whole, 1 - (1 - share) ** 2) : whole;
      const { width, alpha } = strength(weight, widest);
      context.globalAlpha = alpha * (follows && !lit ? 0.16 : isNow || lit ? 0.95 : 0.5);
      context.strokeStyle = isNow ? inks.theme.now : lit ? inks.theme.text : inks.theme.accent;
      context.lineWidth = width;
      context.beginPath();
      context.moveTo(...a);
      context.bezierCurveTo(...b, ...c, ...d);
      context.stroke();
      if (figure.rows === 2 && (isNow || lit)) leads(context, [start, from.bottom + 1], [end, to.top - 1]);
    });
  });
  context.globalAlpha = 1;
}

/** @type {(view: ModelView, context: Context, moment: Moment, done: boolean) => void} */
function drawWays(view, context, moment, done) {
  const { figure, places, inks } = view;
  /** @type {(points: Point[], lit: boolean, flows: number | null) => void} */
  const line = (points, lit, flows) => {
    context.globalAlpha = lit ? 1 : 0.55;
    context.strokeStyle = lit ? inks.theme.now : inks.way;
    context.lineWidth = lit ? 2.5 : 2;
    context.beginPath();
    rounded(context, points);
    context.stroke();
    if (flows === null || !lit) return;
    context.fillStyle = inks.theme.now;
    for (const phase of [0, 0.34, 0.67]) {
      const [x, y] = along(points, (flows + phase) % 1);
      context.beginPath();
      context.arc(x, y, 3.2, 0, 7);
      context.fill();
    }
  };
  const flow = view.playing || view.filmed ? (view.time / 620) % 1 : 0.3;
  const reads = moment.phase === "read" && !done;
  places.stacks.forEach((place, number) => {
    const { stack } = view.stacks[number];
    const decodes = stack === figure.decoder;
    const x = place.chips.left + 14;
    const enters = decodes ? moment.phase === "enter" : reads && moment.layer === 0;
    arrow(context, [x, place.chips.top - 2], [x, place.box.bottom + 3], enters && !done ? inks.theme.now : inks.way);
  });
  const crossing = figure.decoder?.blocks.findIndex(({ kind }) => kind === "cross") ?? -1;
  if (crossing >= 0 && figure.encoder) drawCrossing(view, line, moment, done, crossing, flow);
  if (places.next && figure.decoder) {
    const box = places.stacks[view.stacks.findIndex(({ stack }) => stack === figure.decoder)].box;
    const lit = moment.phase === "write" && !done;
    if (!view.narrow) {
      const y = places.next.top + places.next.height / 2;
      arrow(context, [box.right + 2, y], [places.next.left - 4, y], lit ? inks.theme.now : inks.way);
    }
  }
  context.globalAlpha = 1;
}

/** Draws the encoder's output going to each layer's cross-attention.
 * @type {(view: ModelView, line: (points: Point[], lit: boolean, flows: number | null) => void, moment: Moment, done: boolean, crossing: number, flow: number) => void} */
function drawCrossing(view, line, moment, done, crossing, flow) {
  const { places, figure } = view;
  const from = places.stacks[view.stacks.findIndex(({ stack }) => stack === figure.encoder)].box;
  const { layers } = places.stacks[view.stacks.findIndex(({ stack }) => stack === figure.decoder)];
  const { narrow } = view;
  const top = layers[layers.length - 1].parts[crossing];
  const bus = narrow ? from.left - 8 : top.left - 8;
  /** @type {Point[]} */
  const beginning = narrow
    ? [[from.left, from.bottom - 16], [bus, from.bottom - 16]]
    : [[from.left + from.width * 0.62, from.top], [from.left + from.width * 0.62, from.top - 7], [bus, from.top - 7]];
  const lowest = layers[0].parts[crossing];
  const at = (/** @type {Rectangle} */ part) => part.top + part.height / 2;
  line([...beginning, [bus, at(lowest)]], false, null);
  layers.forEach(({ parts }, layer) => {
    const part = parts[crossing];
    line([[bus, at(part)], [part.left, at(part)]], false, null);
    const count = parts.length + (figure.decoder?.added ? 1 : 0);
    if (done || moment.phase !== "layer" || moment.layer !== layer || partAt(moment.share, count) !== crossing) return;
    line([...beginning, [bus, at(part)], [part.left, at(part)]], true, flow);
  });
}

/** The index of the working block when `share` of a layer is done. @type {(share: number, count: number) => number} */
export function partAt(share, count) {
  return Math.min(count - 1, Math.floor(share * count));
}

/** From a curve's ends to the words of a text's other lines, each an end and the height of its word.
 * @type {(context: Context, ...ends: [end: Point, height: number][]) => void} */
function leads(context, ...ends) {
  context.lineWidth = 1.5;
  for (const [[x, y], height] of ends) {
    if (Math.abs(height - y) < 4) continue;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x, height);
    context.stroke();
  }
}

/** A path with rounded corners. @type {(context: Context, points: Point[], radius?: number) => void} */
function rounded(context, points, radius = 8) {
  context.moveTo(...points[0]);
  for (let place = 1; place < points.length - 1; place++) context.arcTo(...points[place], ...points[place + 1], radius);
  context.lineTo(...points[points.length - 1]);
}

/** The point at a share of a path's length. @type {(points: Point[], share: number) => Point} */
function along(points, share) {
  const lengths = points.slice(1).map(([x, y], place) => Math.hypot(x - points[place][0], y - points[place][1]));
  let rest = share * lengths.reduce((sum, length) => sum + length, 0);
  for (let place = 0; place < lengths.length; place++) {
    if (rest <= lengths[place] || place === lengths.length - 1) {
      const part = lengths[place] ? rest / lengths[place] : 0;
      const [[x, y], [toX, toY]] = [points[place], points[place + 1]];
      return [x + (toX - x) * part, y + (toY - y) * part];
    }
    rest -= lengths[place];
  }
  return points[0];
}

/** @type {(context: Context, from: Point, to: Point, color: string) => void} */
function arrow(context, from, to, color) {
  context.globalAlpha = 0.9;
  context.strokeStyle = context.fillStyle = color;
  context.lineWidth = 2;
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(to[0] - 5 * Math.cos(angle), to[1] - 5 * Math.sin(angle));
  context.stroke();
  context.beginPath();
  context.moveTo(...to);
  for (const turn of [2.6, -2.6]) context.lineTo(to[0] + 8 * Math.cos(angle + turn), to[1] + 8 * Math.sin(angle + turn));
  context.fill();
}
