// Finds the matrix cell at a pixel. A grid has `left`, `top`, `cellWidth`, `cellHeight`, `queries` and `keys`.

const floor = (grid, x, y) => [Math.floor((y - grid.top) / grid.cellHeight), Math.floor((x - grid.left) / grid.cellWidth)];

/** The cell at a pixel, `[query, key]`; null outside the grid. */
export function cellAt(grid, x, y) {
  const [query, key] = floor(grid, x, y);
  const inside = key >= 0 && query >= 0 && key < grid.keys.length && query < grid.queries.length;
  return inside ? [query, key] : null;
}

/** The cell nearest to a pixel. */
export function nearestCell(grid, x, y) {
  const [query, key] = floor(grid, x, y);
  const clamp = (place, { length }) => Math.max(0, Math.min(length - 1, place));
  return [clamp(query, grid.queries), clamp(key, grid.keys)];
}
