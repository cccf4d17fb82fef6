// HTML and SVG elements, and canvases at the screen's resolution.

const SVG = "http://www.w3.org/2000/svg";

/** A new HTML element. */
export function element(tag, className, attributes = {}, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A new SVG element. */
export function drawn(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Sizes a canvas in CSS pixels at this screen's resolution; returns its 2D context and the device pixels per CSS pixel. */
export function fitted(canvas, width, height) {
  const density = window.devicePixelRatio || 1;
  const [wide, high] = [Math.max(1, Math.round(width * density)), Math.max(1, Math.round(height * density))];
  // Setting a size clears the canvas, which would flicker.
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  return { context: canvas.getContext("2d"), density };
}
