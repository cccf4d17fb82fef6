/** The cells that bear a cross: those of the server, each click that it has not answered turning one over. */
export function crossed(off, clicks) {
  const cells = new Map(off.map((cell) => [cell.join(), cell]));
  for (const [, ...cell] of clicks) {
    if (!cells.delete(cell.join())) cells.set(cell.join(), cell);
  }
  return [...cells.values()];
}
