// Where one is in the model: a path of names that leads back, and a small map.

import { element, fitted, part } from "../canvas/dom.js";
import { tr } from "../canvas/wording.js";
import { names, saidOf } from "./place_words.js";
import { rectOf } from "./space.js";

const [MAP_WIDTH, MAP_HEIGHT, TALL_MAP] = [150, 60, 96];
const EDGE = 2;
const LEAST_MARK = 4;
/** A smaller frame would only hide the mark. */
const LEAST_FRAME = 6;

/** The path to a place as buttons, and after it what else shows that place. Hidden at the whole model. */
export class Trail {
  /** @param {{ go: (place: Place) => void }} on */
  constructor(on) {
    this.on = on;
    this.list = element("ol");
    this.ways = element("div", "ways");
    this.told = element("p", "result", { hidden: "" });
    this.root = element("nav", "trail", { "aria-label": tr("Place in the model"), hidden: "" }, this.list, this.ways, this.told);
  }

  /** Says beside the path what came of a question. @param {string} text */
  tell(text) {
    this.told.textContent = text;
    this.told.hidden = !text;
  }

  /** Takes the focus to the name of the place. */
  focus() {
    part(this.list, "button[aria-current]").focus();
  }

  /** Room that it takes at the top. @type {(isNarrow: boolean) => number} */
  height(isNarrow) {
    // Beside the map, names may take more lines than one.
    return isNarrow ? this.root.offsetHeight + 4 : this.list.offsetHeight + 24;
  }

  /** @type {(place: Place, figure: PlacedFigure, ways?: { text: string; open: () => void }[]) => void} */
  show(place, figure, ways = []) {
    this.tell("");
    const root = /** @type {Document | ShadowRoot} */ (this.root.getRootNode());
    const hadFocus = this.list.contains(root.activeElement ?? null);
    const steps = names(place, figure).map((step) => ({ ...step, made: element("button", "", { type: "button", dir: "auto" }, step.name) }));
    for (const { place: to, made } of steps) made.addEventListener("click", () => this.on.go(to));
    const here = steps[steps.length - 1].made;
    here.setAttribute("aria-current", "location");
    here.title = saidOf(place, figure);
    this.list.replaceChildren(...steps.map(({ made }) => element("li", "", {}, made)));
    this.ways.replaceChildren(...ways.map(({ text, open }) => {
      const made = element("button", "link", { type: "button" }, text);
      made.addEventListener("click", open);
      return made;
    }));
    this.root.hidden = place.at === "model";
    if (hadFocus) here.focus();
  }
}

/** The whole model, small: the place, and a frame around what is seen. For a pointer; the path says the same. */
export class SmallMap {
  sized = "";
  density = 1;
  /** The part of the world that it shows, and pixels per world's pixel. */
  shown = { left: 0, top: 0, scale: 1 };
  /** @type {Context} */
  context;

  /** @param {{ go: (point: WorldPoint) => void }} on */
  constructor(on) {
    this.root = element("canvas", "map", { "aria-hidden": "true" });
    this.root.addEventListener("click", (event) => {
      const { left, top, scale } = this.shown;
      on.go({ x: left + (event.offsetX - EDGE) / scale, y: top + (event.offsetY - EDGE) / scale });
    });
  }

  /** @type {(space: Space) => void} */
  _size(space) {
    const parts = [...Object.values(space.stacks), ...(space.next ? [space.next] : [])];
    const [left, top] = [Math.min(...parts.map((part) => part.left)), Math.min(...parts.map((part) => part.top))];
    const [width, height] = [Math.max(...parts.map(({ right }) => right)) - left, Math.max(...parts.map(({ bottom }) => bottom)) - top];
    const scale = Math.min(MAP_WIDTH / width, (width > height ? MAP_HEIGHT : TALL_MAP) / height);
    this.shown = { left, top, scale };
    const sized = [width * scale, height * scale, window.devicePixelRatio].join();
    if (sized === this.sized) return;
    this.sized = sized;
    Object.assign(this, fitted(this.root, width * scale + 2 * EDGE, height * scale + 2 * EDGE));
  }

  /** @type {(place: Place, space: Space, figure: PlacedFigure, seen: Rectangle, theme: ShownTheme) => void} */
  draw(place, space, figure, seen, theme) {
    if (place.at === "model") return;
    this._size(space);
    const { context, density, root, shown } = this;
    const { left, top, scale } = shown;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, root.width, root.height);
    context.setTransform(density, 0, 0, density, EDGE * density, EDGE * density);
    /** @type {(part: Rectangle) => [number, number, number, number]} */
    const onMap = (part) => [(part.left - left) * scale, (part.top - top) * scale, part.width * scale, part.height * scale];
    context.strokeStyle = context.fillStyle = theme.muted;
    context.lineWidth = 1;
    context.globalAlpha = 0.28;
    for (const part of [...Object.values(space.blocks), ...Object.values(space.added)]) context.fillRect(...onMap(part));
    context.globalAlpha = 0.6;
    for (const part of [...Object.values(space.stacks), ...(space.next ? [space.next] : [])]) context.strokeRect(...onMap(part));
    context.globalAlpha = 1;
    // A row and a weight are too small for it.
    const [x, y, width, height] = onMap(rectOf("head" in place ? { ...place, at: "head" } : place, space, figure));
    const [wide, high] = [Math.max(LEAST_MARK, width), Math.max(LEAST_MARK, height)];
    context.fillStyle = context.strokeStyle = theme.accent;
    context.lineWidth = 2;
    // A whole stack is framed: filled, it would hide its blocks.
    if (place.at === "stack") context.strokeRect(x, y, width, height);
    else context.fillRect(x + (width - wide) / 2, y + (height - high) / 2, wide, high);
    const [ahead, above, across, down] = onMap(seen);
    const [start, end] = [Math.max(0, ahead), Math.min(root.width / density - 2 * EDGE, ahead + across)];
    const [roof, floor] = [Math.max(0, above), Math.min(root.height / density - 2 * EDGE, above + down)];
    if (end - start < LEAST_FRAME || floor - roof < LEAST_FRAME) return;
    context.strokeStyle = theme.text;
    context.lineWidth = 1;
    context.strokeRect(start, roof, end - start, floor - roof);
  }
}
