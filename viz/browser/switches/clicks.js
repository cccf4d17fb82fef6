// Clicks on cells that the server has not answered yet, by their numbers.

/** The clicks after one: those that were answered drop out. */
export function unanswered(clicks, heard) {
  return clicks.filter(([number]) => number > heard);
}

/** The cells that bear a cross: those of the server, each click turning one over. */
export function crossed(off, clicks) {
  const cells = new Map(off.map((cell) => [cell.join(), cell]));
  for (const [, ...cell] of clicks) {
    if (!cells.delete(cell.join())) cells.set(cell.join(), cell);
  }
  return [...cells.values()];
}
