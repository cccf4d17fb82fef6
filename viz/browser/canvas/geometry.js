// Rectangles, and the matrix cell at a pixel.

/** @type {(grid: Grid, x: number, y: number) => Cell} */
const floor = (grid, x, y) => [Math.floor((y - grid.top) / grid.cellHeight), Math.floor((x - grid.left) / grid.cellWidth)];

/** The cell at a pixel, `[query, key]`; null outside the grid. @type {(grid: Grid, x: number, y: number) => Cell | null} */
export function cellAt(grid, x, y) {
  const [query, key] = floor(grid, x, y);
  const inside = key >= 0 && query >= 0 && key < grid.keys.length && query < grid.queries.length;
  return inside ? [query, key] : null;
}

/** The cell nearest to a pixel. @type {(grid: Grid, x: number, y: number) => Cell} */
export function nearestCell(grid, x, y) {
  const [query, key] = floor(grid, x, y);
  const clamp = (/** @type {number} */ place, /** @type {{ length: number }} */ { length }) => Math.max(0, Math.min(length - 1, place));
  return [clamp(query, grid.queries), clamp(key, grid.keys)];
}

/** A rectangle with all its edges. @type {(left: number, top: number, width: number, height: number) => Rectangle} */
export function rectangle(left, top, width, height) {
  return { left, top, width, height, right: left + width, bottom: top + height };
}
