// Heads as points by two measures: named where there is room, on hover and at the first tap; a click opens one.

import { drawn, element } from "../browser/canvas/dom.js";
import { percent, signed } from "../browser/canvas/numbers.js";

/** @typedef {{ x: number, y: number, kind: string, name: string, lines: string[], first: boolean, chosen: boolean, open: () => void }} Point */
/** @typedef {{ name: string, share: boolean }} ScatterAxis */
/** @typedef {{ left: number, top: number, right: number, bottom: number }} Box */
/** A point with its middle in pixels. @typedef {{ point: Point, x: number, y: number }} Placed */

// Pixels: around the plot, from a point's middle to its edge, from how far a pointer means it, and of a name.
const PLOT_ROOM = { left: 58, right: 18, top: 12, bottom: 46 };
const [POINT_EDGE, MEANT, NAME_HEIGHT, NAME_LETTER] = [6, 22, 16, 7.2];
// The room around all points, as a share of the range of their values; and about so many numbers on an axis.
const [RANGE_ROOM, AXIS_TICKS] = [0.05, 6];

/** What is drawn of a kind of attention in the middle of a point. @type {Record<string, string>} */
const POINT_SHAPES = { cross: "M0-7 7 0 0 7-7 0Z", decoder: "M-5-5H5V5H-5Z" };
const ROUND = "M-6 0A6 6 0 1 1 6 0A6 6 0 1 1-6 0Z";

/** Round numbers within a range, and how many digits they need. @type {(low: number, high: number) => { at: number[], digits: number }} */
export function ticksOf(low, high) {
  const rough = (high - low) / AXIS_TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((each) => each * power >= rough) ?? 10);
  const first = Math.ceil(low / step);
  return { at: Array.from({ length: Math.floor(high / step) - first + 1 }, (_, place) => (first + place) * step), digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

/** The ends of an axis around some values. @type {(values: number[]) => [number, number]} */
function rangeOf(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const around = RANGE_ROOM * (high - low || 1);
  return [low - around, high + around];
}

/** A picture of points, as wide as its place. @type {(points: Point[], axes: [ScatterAxis, ScatterAxis], said: { alt: string, kinds: [string, string][] }) => HTMLElement} */
export function scatter(points, axes, { alt, kinds }) {
  const tip = element("div", "tip", { hidden: "" });
  const plot = element("div", "plot");
  const legend = element(
    "p",
    "aside legend",
    {},
    ...kinds.map(([kind, name]) => element("span", "", {}, drawn("svg", { viewBox: "-8 -8 16 16", width: 14, height: 14, class: kind, "aria-hidden": "true" }, drawn("path", { d: POINT_SHAPES[kind] ?? ROUND })), ` ${name}`)),
  );
  const root = element("div", "scatter", {}, plot, tip, legend);
  /** @type {Placed[]} */
  let placed = [];
  /** @type {Placed | null} */
  let pointed = null;

  const draw = () => {
    const { clientWidth: width, clientHeight: height } = plot;
    if (!width || !height) return;
    show(null);
    const svg = drawn("svg", { width, height, role: "img", "aria-label": alt });
    const [across, up] = [rangeOf(points.map(({ x }) => x)), rangeOf(points.map(({ y }) => y))];
    const end = { x: width - PLOT_ROOM.right, y: height - PLOT_ROOM.bottom };
    const xOf = (/** @type {number} */ value) => PLOT_ROOM.left + ((value - across[0]) / (across[1] - across[0])) * (end.x - PLOT_ROOM.left);
    const yOf = (/** @type {number} */ value) => end.y - ((value - up[0]) / (up[1] - up[0])) * (end.y - PLOT_ROOM.top);
    /** @type {(axis: ScatterAxis, value: number, digits: number) => string} */
    const written = ({ share }, value, digits) => (share ? percent(value, Math.max(0, digits - 2)) : signed(value, digits));
    const [columns, rows] = [ticksOf(...across), ticksOf(...up)];
    for (const value of columns.at) svg.append(drawn("path", { class: "grid", d: `M${xOf(value)} ${PLOT_ROOM.top}V${end.y}` }), drawn("text", { x: xOf(value), y: end.y + 18, "text-anchor": "middle" }, written(axes[0], value, columns.digits)));
    for (const value of rows.at) svg.append(drawn("path", { class: "grid", d: `M${PLOT_ROOM.left} ${yOf(value)}H${end.x}` }), drawn("text", { x: PLOT_ROOM.left - 8, y: yOf(value) + 4, "text-anchor": "end" }, written(axes[1], value, rows.digits)));
    const middle = { x: (PLOT_ROOM.left + end.x) / 2, y: (PLOT_ROOM.top + end.y) / 2 };
    svg.append(drawn("text", { class: "axis", x: middle.x, y: height - 8, "text-anchor": "middle" }, `${axes[0].name} →`));
    svg.append(drawn("text", { class: "axis", transform: `translate(13 ${middle.y}) rotate(-90)`, "text-anchor": "middle" }, `${axes[1].name} →`));
    placed = points.map((point) => ({ point, x: xOf(point.x), y: yOf(point.y) }));
    for (const { point, x, y } of placed) {
      if (point.chosen) svg.append(drawn("circle", { class: "ring", cx: x, cy: y, r: 11 }));
      svg.append(drawn("path", { class: `at ${point.kind}`, d: POINT_SHAPES[point.kind] ?? ROUND, transform: `translate(${x} ${y})` }));
    }
    for (const { text, x, y } of namesOf(placed, { left: PLOT_ROOM.left, top: 0, right: width, bottom: end.y })) svg.append(drawn("text", { class: "name", x, y }, text));
    svg.append(drawn("circle", { class: "ring pointed", r: 11, visibility: "hidden" }));
    plot.replaceChildren(svg);
  };

  const nearest = (/** @type {MouseEvent} */ event) => {
    const { left, top } = plot.getBoundingClientRect();
    const far = (/** @type {Placed} */ { x, y }) => Math.hypot(x - event.clientX + left, y - event.clientY + top);
    const near = placed.reduce((/** @type {Placed | null} */ best, each) => (!best || far(each) < far(best) ? each : best), null);
    return near && far(near) <= MEANT ? near : null;
  };
  const show = (/** @type {Placed | null} */ near) => {
    pointed = near;
    tip.hidden = !near;
    plot.style.cursor = near ? "pointer" : "";
    const ring = plot.querySelector(".pointed");
    ring?.setAttribute("visibility", near ? "visible" : "hidden");
    if (!near) return;
    ring?.setAttribute("cx", String(near.x));
    ring?.setAttribute("cy", String(near.y));
    tip.replaceChildren(element("strong", "", {}, near.point.name), ...near.point.lines.map((line) => element("span", "", {}, line)));
    const { clientWidth: width, clientHeight: height } = plot;
    tip.style.left = `${Math.max(0, Math.min(near.x + 14, width - tip.offsetWidth))}px`;
    tip.style.top = `${near.y + 14 + tip.offsetHeight > height ? near.y - 14 - tip.offsetHeight : near.y + 14}px`;
  };
  plot.addEventListener("pointermove", (event) => event.pointerType === "mouse" && show(nearest(event)));
  plot.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && show(null));
  plot.addEventListener("click", (event) => {
    const near = nearest(event);
    // A finger's first tap names a point, as pointing does.
    if (near && near === pointed) near.point.open();
    else show(near);
  });
  new ResizeObserver(draw).observe(plot);
  return root;
}

/** The names of the points that come first, where they meet neither other points nor other names.
 * @type {(placed: Placed[], within: Box) => { text: string, x: number, y: number }[]} */
function namesOf(placed, within) {
  /** @type {Box[]} */
  const taken = [];
  const meets = (/** @type {Box} */ one, /** @type {Box} */ other) => one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
  return placed.flatMap((own) => {
    if (!own.point.first) return [];
    const wide = NAME_LETTER * own.point.name.length;
    const beside = POINT_EDGE + 4;
    const [above, level, under] = [own.y - beside - NAME_HEIGHT, own.y - NAME_HEIGHT / 2, own.y + beside];
    const [right, centred, left] = [own.x + beside, own.x - wide / 2, own.x - beside - wide];
    const sides = [[right, level], [left, level], [centred, above], [centred, under], [right, above], [right, under], [left, above], [left, under]];
    for (const [x, y] of sides) {
      const box = { left: x, top: y, right: x + wide, bottom: y + NAME_HEIGHT };
      const isWithin = box.left >= within.left && box.right <= within.right && box.top >= within.top && box.bottom <= within.bottom;
      const others = placed.filter((each) => each !== own).map((each) => ({ left: each.x - POINT_EDGE - 1, top: each.y - POINT_EDGE - 1, right: each.x + POINT_EDGE + 1, bottom: each.y + POINT_EDGE + 1 }));
      if (!isWithin || [...others, ...taken].some((other) => meets(box, other))) continue;
      taken.push(box);
      return [{ text: own.point.name, x, y: y + NAME_HEIGHT - 4 }];
    }
    return [];
  });
}
