// The place of a dragged item among the others.

/** A copy of the items with one moved from index `from` to index `to`.
 * @type {<Item>(items: Item[], from: number, to: number) => Item[]} */
export function moved(items, from, to) {
  const others = items.filter((_, index) => index !== from);
  return [...others.slice(0, to), items[from], ...others.slice(to)];
}

/** The index that the row at `from` gets when dragged to height `y`.
 * @type {(boxes: { top: number; height: number }[], from: number, y: number) => number} */
export function rowUnder(boxes, from, y) {
  return boxes.filter((box, index) => index !== from && y > box.top + box.height / 2).length;
}

/** The index of the word before which a dragged word is dropped, in lines from left to right; -1 for the end.
 * @type {(boxes: Omit<DOMRect, "toJSON" | "x" | "y">[], taken: number, x: number, y: number) => number} */
export function wordAfter(boxes, taken, x, y) {
  return boxes.findIndex((box, index) => {
    if (index === taken) return false;
    const below = y < box.top;
    const beside = y <= box.bottom && x < box.left + box.width / 2;
    return below || beside;
  });
}
