// What comes next, close up: the last row's vector, the logits it makes, and the probabilities after softmax.

import { rectangle } from "../../canvas/geometry.js";
import { percent } from "../../canvas/numbers.js";
import { tr } from "../../canvas/wording.js";
import { numberText } from "./numbers.js";
import { Pen, bounded, mostOf } from "./pen.js";

/** A probability, of which nothing is certain and nothing that is offered impossible. @type {(share: number) => string} */
function oddsText(share) {
  if (share >= 0.995) return `> ${percent(0.99)}`;
  return share > 0 && share < 0.005 ? `< ${percent(0.01)}` : percent(share);
}

/** The likeliest next tokens, with how the model came to them. @type {(context: Context, room: Rectangle, data: NextData, inks: Inks) => Hot[]} */
export function paintNext(context, room, data, inks) {
  const { answer, after, step } = data;
  const em = bounded(Math.min(room.width / 27, room.height / 27), 12, 30);
  const pen = new Pen(context, inks, em);
  const box = rectangle(room.left + em, room.top + em, room.width - 2 * em, room.height - 2 * em);
  const asked = tr("What comes after “{token}”?", { token: after });
  pen.write(asked, box.left, box.top + 0.8 * em, { size: 1.35 * em, weight: 700, width: box.width });
  let top = box.top + 2.6 * em;
  if (answer) {
    const aside = tr("{n} numbers", { n: answer.size }, "{n} number");
    const width = pen.write(aside, box.right, top, { size: 0.78 * em, color: pen.theme.muted, align: "right" });
    pen.write(tr("the last row’s vector"), box.left, top, { size: 0.9 * em, width: box.width - width - em });
    const high = bounded(0.06 * box.height, 1.2 * em, 3 * em);
    pen.cells(answer.hidden, rectangle(box.left, top + 0.9 * em, box.width, high), 0.7 * mostOf(answer.hidden));
    top += high + 1.9 * em;
    const made = tr("↓ times one row for each of {count} tokens", { count: answer.vocabulary });
    pen.write(made, box.left, top, { size: 0.9 * em, color: pen.theme.muted, width: box.width });
    top += 1.2 * em;
  }
  return drawNext(pen, rectangle(box.left, top, box.width, box.bottom - top), data, step);
}

/** @type {(pen: Pen, box: Rectangle, data: NextData, step: number) => Hot[]} */
function drawNext(pen, box, { answer, texts, shares, chosen }, step) {
  const { em, theme } = pen;
  const names = answer?.texts ?? texts;
  const probabilities = answer?.shares ?? shares;
  const line = Math.min(2.8 * em, (box.height - 1.6 * em) / names.length);
  const size = Math.min(1.05 * em, line / 1.15);
  const token = Math.min(0.3 * box.width, Math.max(...names.map((text) => pen.wide(text, 1.15 * size, 700))) + em);
  const gap = 0.8 * em;
  const half = answer ? (box.width - token - 2 * gap) / 2 : 0;
  const left = box.left + token + gap;
  const right = answer ? left + half + gap : left;
  const style = { size: 0.8 * em, color: theme.muted };
  if (answer) pen.write(tr("logit"), left, box.top + 0.6 * em, { ...style, width: half });
  pen.write(answer ? tr("softmax: probability") : tr("probability"), right, box.top + 0.6 * em, { ...style, width: box.right - right });
  const logits = Array.from(answer?.logits ?? [0]);
  const [low, high] = [Math.min(0, ...logits), Math.max(0, ...logits)];
  const numbered = Math.max(...logits.map((logit) => pen.wide(numberText(logit), size, 700))) + 0.5 * em;
  const unit = (half - numbered) / (high - low || 1);
  const share = box.right - right - pen.wide(`< ${percent(0.01)}`, size, 700) - 0.5 * em;
  /** @type {Hot[]} */
  const hot = [];
  names.forEach((text, place) => {
    const is = text === texts[chosen];
    const y = box.top + 1.6 * em + (place + 0.5) * line;
    const thick = bounded(0.6 * line, 4, 1.5 * em);
    const color = is ? theme.now : pen.pale;
    const ink = { size, weight: is ? 700 : 400, color: is ? theme.now : theme.text };
    pen.write(text, box.left + token, y, { ...ink, size: is ? 1.15 * size : size, align: "right", width: token });
    if (answer) {
      const [from, to] = [0, logits[place]].map((value) => left + (value - low) * unit);
      pen.fill(rectangle(Math.min(from, to), y - thick / 2, Math.max(1, Math.abs(to - from)), thick), color);
      pen.write(numberText(logits[place]), Math.max(from, to) + 0.4 * em, y, ink);
    }
    pen.fill(rectangle(right, y - thick / 2, Math.max(1, share * probabilities[place]), thick), color);
    pen.write(oddsText(probabilities[place]), right + Math.max(1, share * probabilities[place]) + 0.4 * em, y, ink);
    if (!answer || is) return;
    const act = /** @type {const} */ ({ ask: "instead", step, id: answer.ids[place] });
    hot.push({ ...rectangle(box.left, y - line / 2, box.width, line), act, label: tr("Take “{token}” instead", { token: text }) });
  });
  return hot;
}
