// Where what is dragged among others comes to stand.

/** The items with one of them at another place. */
export function moved(items, from, to) {
  const others = items.filter((_, index) => index !== from);
  return [...others.slice(0, to), items[from], ...others.slice(to)];
}

/** The place among rows, one below the other, that the one at `from` comes to when it is dragged to a height. */
export function rowUnder(boxes, from, y) {
  return boxes.filter((box, index) => index !== from && y > box.top + box.height / 2).length;
}

/** Which of the words, in lines from left to right, a dragged one comes to stand before; -1 for the end. */
export function wordAfter(boxes, taken, x, y) {
  return boxes.findIndex((box, index) => {
    if (index === taken) return false;
    const below = y < box.top;
    const beside = y <= box.bottom && x < box.left + box.width / 2;
    return below || beside;
  });
}
