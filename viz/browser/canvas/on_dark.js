// Whether what stands around an element is dark.

/** JupyterLab says so; other notebooks show it by the colour of their text, in any CSS notation.
 * @type {(host: Element) => boolean} */
export function isOnDark(host) {
  const isLight = document.body.dataset.jpThemeLight;
  if (isLight) return isLight === "false";
  const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  pen.fillStyle = getComputedStyle(host).color;
  pen.fillRect(0, 0, 1, 1);
  const [red, green, blue] = pen.getImageData(0, 0, 1, 1).data;
  return red + green + blue > 382;
}
