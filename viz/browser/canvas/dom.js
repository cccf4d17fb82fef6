// Elements, and canvases as sharp as the screen.

const SVG = "http://www.w3.org/2000/svg";

/** An element of HTML. */
export function element(tag, className, attributes = {}, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** An element of SVG: what is drawn as lines and shapes. */
export function drawn(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Fits a canvas to its size in CSS pixels on this screen; gives its 2D context and device pixels a CSS pixel. */
export function fitted(canvas, width, height) {
  const density = window.devicePixelRatio || 1;
  const [wide, high] = [Math.max(1, Math.round(width * density)), Math.max(1, Math.round(height * density))];
  // Setting a size clears the canvas, which flickers.
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  return { context: canvas.getContext("2d"), density };
}
