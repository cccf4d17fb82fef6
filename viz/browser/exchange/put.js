// Which parts of one sentence are in the other.

/** @type {Record<string, [down: number, across: number]>} */
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** The parts that are in: the server's, with each unanswered move toggling one.
 * @type {(put: string[], moves: string[]) => string[]} */
export function partsIn(put, moves) {
  const parts = new Set(put);
  for (const part of moves) {
    if (!parts.delete(part)) parts.add(part);
  }
  return [...parts];
}

/** A token's hidden states after a stage of the encoder, as the address writes them.
 * @type {(stage: string, place: number) => string} */
export function stateAt(stage, place) {
  return `encoder.${stage}.at${place}`;
}

/** The place in a grid that an arrow key leads to from another; null where it leads nowhere.
 * @type {(key: string, from: [row: number, column: number], rows: number, columns: number) => [number, number] | null} */
export function stepped(key, [row, column], rows, columns) {
  const [down, across] = ARROWS[key] ?? [0, 0];
  const [y, x] = [row + down, column + across];
  return (down || across) && y >= 0 && y < rows && x >= 0 && x < columns ? [y, x] : null;
}
