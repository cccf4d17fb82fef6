// Views of the model's picture: what fits, what lies where, and the smooth way from one view to another.

const MARGIN = { top: 24, right: 24, bottom: 24, left: 24 };
/** A cell close up is between square and so much wider than high. */
const WIDEST_CELL = 1.35;
const MOST_RATIO = 6;
/** How strongly a path zooms out on its way, as van Wijk and Nuij's readers preferred it. */
const RHO = Math.SQRT2;
const [SHORTEST, LONGEST, START_TIME, TIME_PER_LENGTH] = [400, 2000, 250, 380];
/** A distance below this share of what is seen is none. */
const NO_DISTANCE = 1e-4;

/** @type {(low: number, value: number, high: number) => number} */
const clamped = (low, value, high) => Math.max(low, Math.min(high, value));

/** The geometric mean of a view's two scales. @type {(view: Pick<CameraView, "across" | "up">) => number} */
export const scaleOf = ({ across, up }) => Math.sqrt(across * up);

/** Both scales, from their geometric mean and across ÷ up. @type {(scale: number, ratio: number) => { across: number; up: number }} */
const scales = (scale, ratio) => ({ across: scale * Math.sqrt(ratio), up: scale / Math.sqrt(ratio) });

/**
 * The view in which a rectangle fills the viewport but for its margin.
 *
 * With `stretch`, the rectangle is a matrix of so many queries and keys, whose cells become square, or wider where there is room; without,
 * both scales are the same.
 *
 * @param {Rectangle} rectangle - in the world.
 * @param {Viewport} viewport
 * @param {{ margin?: Partial<Insets>; stretch?: { queries: number; keys: number } | null }} [how] - the margin in pixels of the screen.
 * @returns {CameraView}
 */
export function fitting(rectangle, viewport, { margin = {}, stretch = null } = {}) {
  const inset = { ...MARGIN, ...margin };
  const width = Math.max(1, viewport.width - inset.left - inset.right);
  const height = Math.max(1, viewport.height - inset.top - inset.bottom);
  let ratio = 1;
  if (stretch) {
    const { queries, keys } = stretch;
    const cell = clamped(1, width / keys / (height / queries), WIDEST_CELL);
    ratio = clamped(1 / MOST_RATIO, cell / (rectangle.width / keys / (rectangle.height / queries)), MOST_RATIO);
  }
  const up = Math.min(width / (rectangle.width * ratio), height / rectangle.height);
  const across = up * ratio;
  return {
    x: rectangle.left + rectangle.width / 2 + (inset.right - inset.left) / 2 / across,
    y: rectangle.top + rectangle.height / 2 + (inset.bottom - inset.top) / 2 / up,
    across,
    up,
  };
}

/** The view in which a rectangle of the figure lies exactly in a room of the viewport.
 * @type {(rect: Rectangle, viewport: { width: number; height: number }, room: { left: number; top: number; width: number; height: number }) => CameraView} */
export function filled(rect, viewport, room) {
  const [across, up] = [room.width / rect.width, room.height / rect.height];
  return {
    x: rect.left + (viewport.width / 2 - room.left) / across,
    y: rect.top + (viewport.height / 2 - room.top) / up,
    ...{ across, up },
  };
}

/** A point of the world, on the screen. @type {(view: CameraView, viewport: Viewport, point: WorldPoint) => WorldPoint} */
export function pointOnScreen({ x, y, across, up }, viewport, point) {
  return { x: viewport.width / 2 + (point.x - x) * across, y: viewport.height / 2 + (point.y - y) * up };
}

/** A rectangle of the world, on the screen. @type {(view: CameraView, viewport: Viewport, rectangle: Rectangle) => Rectangle} */
export function toScreen(view, viewport, rectangle) {
  const { x: left, y: top } = pointOnScreen(view, viewport, { x: rectangle.left, y: rectangle.top });
  const [width, height] = [rectangle.width * view.across, rectangle.height * view.up];
  return { left, top, width, height, right: left + width, bottom: top + height };
}

/** The point of the world at a point of the screen. @type {(view: CameraView, viewport: Viewport, point: WorldPoint) => WorldPoint} */
export function toWorld({ x, y, across, up }, viewport, point) {
  return { x: x + (point.x - viewport.width / 2) / across, y: y + (point.y - viewport.height / 2) / up };
}

/** The part of the world that a viewport shows. @type {(view: CameraView, viewport: Viewport) => Rectangle} */
export function seenIn({ x, y, across, up }, viewport) {
  const [width, height] = [viewport.width / across, viewport.height / up];
  const [left, top] = [x - width / 2, y - height / 2];
  return { left, top, width, height, right: left + width, bottom: top + height };
}

/**
 * A view `factor` times as close, in which the world's point under a point of the screen stays where it is.
 *
 * Going out, the view moves to the whole model's and comes to rest in it, so there the point moves with it.
 *
 * @type {(view: CameraView, viewport: Viewport, point: WorldPoint, factor: number, limits: CameraLimits) => CameraView}
 */
export function zoomed(view, viewport, point, factor, limits) {
  const { whole, near, most } = limits;
  const [scale, least] = [scaleOf(view), scaleOf(whole)];
  const wanted = Math.min(scale * factor, Math.max(scale, most));
  if (wanted <= least * (1 + 1e-9)) return { ...whole };
  const goal = factor < 1 ? whole : near;
  const to = scales(wanted, goal ? ratioToward(view, wanted, goal) : view.across / view.up);
  const fixed = toWorld(view, viewport, point);
  const moved = { x: fixed.x - (point.x - viewport.width / 2) / to.across, y: fixed.y - (point.y - viewport.height / 2) / to.up, ...to };
  if (factor >= 1) return moved;
  const left = Math.log(wanted / least) / Math.log(scale / least);
  return held(moved, limits, { x: whole.x + (view.x - whole.x) * left, y: whole.y + (view.y - whole.y) * left });
}

/** Across ÷ up at a scale on the way from a view to a goal, of which it takes the proportions as it comes near.
 * @type {(view: CameraView, scale: number, goal: CameraView) => number} */
function ratioToward(view, scale, goal) {
  const [from, to] = [Math.log(scaleOf(view)), Math.log(scaleOf(goal))];
  const [own, its] = [Math.log(view.across / view.up), Math.log(goal.across / goal.up)];
  const way = Math.log(scale) - from;
  // Nearer than the goal, the proportions that it has already been given stay.
  if (Math.sign(way) !== Math.sign(to - from)) return Math.exp(own);
  return Math.exp(own + (its - own) * Math.min(1, way / (to - from)));
}

/** A view moved by a drag of so many pixels, no farther than the edge of the world.
 * @type {(view: CameraView, dx: number, dy: number, limits: CameraLimits) => CameraView} */
export function panned(view, dx, dy, limits) {
  return held({ ...view, x: view.x - dx / view.across, y: view.y - dy / view.up }, limits, view);
}

/** A view whose middle stays over the world: anywhere close up, and at the whole model's middle when that is seen. It may lie as far
 * out as the point `before`.
 * @type {(view: CameraView, limits: CameraLimits, before: WorldPoint) => CameraView} */
function held(view, { whole, world }, before) {
  const along = (/** @type {"x" | "y"} */ axis, /** @type {number} */ start, /** @type {number} */ end, /** @type {number} */ scale) => {
    const free = 1 - Math.min(1, 1 / scale) ** 2;
    const low = Math.min(whole[axis], whole[axis] - (whole[axis] - start) * free, before[axis]);
    const high = Math.max(whole[axis], whole[axis] + (end - whole[axis]) * free, before[axis]);
    return clamped(low, view[axis], high);
  };
  const scale = scaleOf(view) / scaleOf(whole);
  return { ...view, x: along("x", world.left, world.right, scale), y: along("y", world.top, world.bottom, scale) };
}

/**
 * The smooth way from one view to another, out and in again where it is far; it starts and ends slowly.
 *
 * Jarke van Wijk and Wim Nuij, "Smooth and efficient zooming and panning", 2003, section 5.
 *
 * @param {CameraView} from
 * @param {CameraView} to
 * @param {Viewport} viewport
 * @returns {CameraPath}
 */
export function path(from, to, viewport) {
  const [start, end] = [from, to].map((view) => viewport.width / scaleOf(view));
  const far = Math.hypot(to.x - from.x, to.y - from.y);
  const { length, at } = far < NO_DISTANCE * Math.min(start, end) ? straight(start, end) : curved(start, end, far);
  const [own, its] = [from, to].map(({ across, up }) => Math.log(across / up));
  // Proportions that change alone take their time too.
  const moves = length + Math.abs(its - own) / 2 + far / Math.min(start, end);
  return {
    duration: moves < 1e-9 ? 0 : clamped(SHORTEST, START_TIME + TIME_PER_LENGTH * (length + Math.abs(its - own) / 2), LONGEST),
    at(share) {
      if (share <= 0) return { ...from };
      if (share >= 1) return { ...to };
      const eased = share * share * (3 - 2 * share);
      const { seen, done } = at(eased);
      const scale = viewport.width / seen;
      return { x: from.x + (to.x - from.x) * done, y: from.y + (to.y - from.y) * done, ...scales(scale, Math.exp(own + (its - own) * eased)) };
    },
  };
}

/** A zoom alone: the path's length, and by share of it the width that is seen and the share of the distance.
 * @type {(start: number, end: number) => { length: number; at: (share: number) => { seen: number; done: number } }} */
function straight(start, end) {
  const zoom = Math.log(end / start);
  return { length: Math.abs(zoom) / RHO, at: (share) => ({ seen: start * Math.exp(zoom * share), done: share }) };
}

/** A zoom over a distance: van Wijk and Nuij's equation 9, with its sums of hyperbolic functions in a form that loses no digits.
 * @type {(start: number, end: number, far: number) => { length: number; at: (share: number) => { seen: number; done: number } }} */
function curved(start, end, far) {
  const [grown, across] = [end * end - start * start, RHO ** 4 * far * far];
  const [first, last] = [
    -Math.asinh((grown + across) / (2 * start * RHO * RHO * far)),
    -Math.asinh((grown - across) / (2 * end * RHO * RHO * far)),
  ];
  const length = (last - first) / RHO;
  return {
    length,
    at(share) {
      const way = RHO * share * length;
      const seen = (start * Math.cosh(first)) / Math.cosh(way + first);
      return { seen, done: ((start / (RHO * RHO)) * Math.sinh(way)) / Math.cosh(way + first) / far };
    },
  };
}
