// The heads of a layer, close up: their numbers above them, what each does below. Their cells are painted by the caller.

import { rectangle } from "../../canvas/geometry.js";
import { tr } from "../../canvas/wording.js";
import { Pen, bounded } from "./pen.js";

// Narrower, a head has its number alone.
const LEAST_NAMED = 60;

/** Names the heads side by side in a room. @type {(context: Context, room: Rectangle, data: HeadsData, inks: Inks) => Hot[]} */
export function paintHeads(context, room, { labels, wide, over }, inks) {
  const step = labels.length > 1 ? (room.width - wide) / (labels.length - 1) : wide;
  const pen = new Pen(context, inks, bounded(step / 8, 12, 24));
  const { em, theme } = pen;
  const isNamed = step > LEAST_NAMED;
  context.save();
  context.globalAlpha *= 0.85;
  pen.fill(rectangle(room.left, room.top - 2.1 * em, room.width, 2.1 * em), theme.ground);
  context.restore();
  return labels.map((label, head) => {
    const own = rectangle(room.left + head * step, room.top, wide, room.height);
    const name = tr("Head {head}", { head });
    const middle = own.left + wide / 2;
    pen.write(isNamed ? name : String(head), middle, own.top - 1.1 * em, { weight: 600, align: "center" });
    if (isNamed && label) pen.lines(label, rectangle(middle, own.bottom + 0.4 * em, step - 0.8 * em, 0), { size: 0.78 * em, color: theme.muted, align: "center" });
    if (head === over) pen.frame(own, theme.now, 2);
    return { ...own, act: { at: /** @type {const} */ ("head"), head }, label: label ? `${name}: ${label}` : name };
  });
}
