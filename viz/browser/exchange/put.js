// Which parts of one sentence are in the other.

/** The parts that are in: the server's, with each unanswered move toggling one. */
export function partsIn(put, moves) {
  const parts = new Set(put);
  for (const [, part] of moves) {
    if (!parts.delete(part)) parts.add(part);
  }
  return [...parts];
}

/** A token's hidden states after a stage of the encoder, as the address writes them. */
export function stateAt(stage, place) {
  return `encoder.${stage}.at${place}`;
}

/** The place in a grid that an arrow key leads to from another; null where it leads nowhere. */
export function stepped(key, [row, column], rows, columns) {
  const [down, across] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key] ?? [0, 0];
  const [y, x] = [row + down, column + across];
  return (down || across) && y >= 0 && y < rows && x >= 0 && x < columns ? [y, x] : null;
}
