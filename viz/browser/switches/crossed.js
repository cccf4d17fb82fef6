/** The crossed cells: the server's, with each unanswered click toggling one.
 * @type {(off: Head[], clicks: [number, ...Head][]) => Head[]} */
export function crossed(off, clicks) {
  const cells = new Map(off.map((cell) => [cell.join(), cell]));
  for (const [, ...cell] of clicks) {
    if (!cells.delete(cell.join())) cells.set(cell.join(), cell);
  }
  return [...cells.values()];
}
