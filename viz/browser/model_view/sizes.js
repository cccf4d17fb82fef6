// The figure's sizes in CSS pixels, chosen to fit the whole model on one screen.

export const NARROW = 700;
// Of a screen that is higher than wide, whose heads would be specks above empty room.
const NARROW_UPRIGHT = 900;

const BESIDE = 24;
const FEED_FORWARD = 66;
const NEXT = 164;
const PADDING = 12;
const BETWEEN = 14;
const GAP = 3;
const LAYER_GAP = 8;
// Titles, headings, position tables and tokens.
const AROUND = 150;
const LEAST_TILE = 9;
const NUMBER_WIDTH = 16;

/** @typedef {Pick<Figure, "stacks" | "next" | "depth">} Sized */

/**
 * The sizes of a figure.
 *
 * @param {Sized} figure
 * @param {number} width - the available width.
 * @param {number} height - the available height, without the words and the controls.
 * @param {number} [unit] - text size relative to usual; larger on a stage.
 * @returns {{ narrow: boolean, tile: TileSize, gap: number }} a head's `tile` and the `gap` between heads.
 */
export function sizesOf(figure, width, height, unit = 1) {
  const narrow = width < NARROW * unit || (width < NARROW_UPRIGHT * unit && height > width);
  const rows = Math.max(...figure.stacks.map((stack) => figure.depth(stack)));
  const wide = (/** @type {FigureStack} */ stack) => {
    const beside = stack.blocks.length * BETWEEN + (stack.added ? FEED_FORWARD : 0);
    return { heads: stack.blocks.reduce((all, { heads }) => all + heads, 0), fixed: unit * (2 * PADDING + NUMBER_WIDTH + beside) };
  };
  let most;
  if (narrow) {
    most = Math.min(
      ...figure.stacks.flatMap((stack) =>
        stack.blocks.map(({ heads }, place) => {
          const fixed = unit * (2 * PADDING + NUMBER_WIDTH + BETWEEN + (place === stack.blocks.length - 1 && stack.added ? FEED_FORWARD : 0));
          return (width - fixed) / heads - GAP;
        }),
      ),
    );
    return { narrow, gap: GAP, tile: tileOf(most, 46) };
  }
  const all = figure.stacks.map(wide);
  const fixed = all.reduce((sum, each) => sum + each.fixed + unit * BESIDE, 0) + (figure.next ? unit * NEXT : 0);
  const heads = all.reduce((sum, each) => sum + each.heads, 0);
  most = (width - fixed) / heads - GAP;
  return { narrow, gap: GAP, tile: tileOf(most, (height - unit * AROUND) / rows - unit * LAYER_GAP) };
}

/** The largest tile that fits, never far from a square. @type {(width: number, height: number) => TileSize} */
function tileOf(width, height) {
  const fits = Math.max(LEAST_TILE, Math.floor(Math.min(width, height * 1.5)));
  return { width: fits, height: Math.max(LEAST_TILE, Math.floor(Math.min(height, fits * 1.6))) };
}

/** The largest font size between `smallest` and `largest` at which the words fit one line.
 * @type {(widthAtOne: number, room: number, largest: number, smallest: number) => number} */
export function letterSize(widthAtOne, room, largest, smallest) {
  return Math.max(smallest, Math.min(largest, Math.floor(room / widthAtOne)));
}
