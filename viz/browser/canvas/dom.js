// HTML and SVG elements, and canvases at the screen's resolution.

const SVG = "http://www.w3.org/2000/svg";

/**
 * A new HTML element.
 *
 * @type {<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, className?: string, attributes?: Record<string, string>,
 *   ...children: (Node | string)[]) => HTMLElementTagNameMap[Tag]}
 */
export function element(tag, className = "", attributes = {}, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/**
 * A new SVG element.
 *
 * @type {<Tag extends keyof SVGElementTagNameMap>(tag: Tag, attributes: Record<string, string | number>,
 *   ...children: (Node | string)[]) => SVGElementTagNameMap[Tag]}
 */
export function drawn(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** Sizes a canvas in CSS pixels at this screen's resolution; returns its 2D context and the device pixels per CSS pixel.
 * @type {(canvas: HTMLCanvasElement, width: number, height: number) => { context: CanvasRenderingContext2D; density: number }} */
export function fitted(canvas, width, height) {
  const density = window.devicePixelRatio || 1;
  const [wide, high] = [Math.max(1, Math.round(width * density)), Math.max(1, Math.round(height * density))];
  // Setting a size clears the canvas, which would flicker.
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  return { context: penOf(canvas), density };
}

/** The 2D context of a canvas. @type {(canvas: HTMLCanvasElement) => CanvasRenderingContext2D} */
export function penOf(canvas) {
  return /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
}

/** The element of a kind in which an event happened. @type {(event: Event, selector: string) => HTMLElement | null} */
export function aimed(event, selector) {
  return /** @type {Element} */ (event.target).closest(selector);
}

/** The element that is known to be there. @type {(root: ParentNode, selector: string) => HTMLElement} */
export function part(root, selector) {
  return /** @type {HTMLElement} */ (root.querySelector(selector));
}

/** Sets or removes an element's class, only if that changes it.
 * @type {(made: HTMLElement, name: string, is: boolean) => void} */
export function classed(made, name, is) {
  if (made.classList.contains(name) !== is) made.classList.toggle(name, is);
}

/** The text, shortened to fit the width. @type {(context: CanvasRenderingContext2D, text: string, width: number) => string} */
export function cutToWidth(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width) length--;
  return `${text.slice(0, length)}…`;
}
