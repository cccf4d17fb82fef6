// The page around a drawing: its theme, the height available on a stage, and the stage's events.

import { penOf } from "./dom.js";
import { channels, luminance } from "./paint.js";

/** The height from the top of `started` to the bottom of the stage's picture area, in CSS pixels.
 * @type {(picture: HTMLElement, started: HTMLElement) => number} */
export function roomWithin(picture, started) {
  const space = parseFloat(getComputedStyle(picture).paddingBottom);
  return Math.max(120, picture.getBoundingClientRect().bottom - space - started.getBoundingClientRect().top);
}

/** A stage's picture area around a component; null elsewhere. @type {(root: HTMLElement) => HTMLElement | null} */
export function pictureOf(root) {
  const { host } = /** @type {Partial<ShadowRoot>} */ (root.getRootNode());
  return /** @type {HTMLElement | null} */ (host?.closest(".st-key-picture") ?? null);
}

/** The page's background colour as "#rrggbb". @type {(root: HTMLElement) => string} */
export function pageGround(root) {
  const probe = penOf(document.createElement("canvas"));
  probe.fillStyle = getComputedStyle(root).getPropertyValue("--st-background-color").trim() || "#ffffff";
  return String(probe.fillStyle);
}

/** The theme of `{light, dark}` that matches the page; sets the root's colour scheme and hatching to it.
 * @type {(root: HTMLElement, themes: Themes) => ShownTheme} */
export function pageTheme(root, themes) {
  const ground = pageGround(root);
  const name = luminance(channels(ground)) < 0.2 ? "dark" : "light";
  const theme = /** @type {ShownTheme} */ ({ ...themes[name], name, ground });
  root.style.colorScheme = name;
  root.style.setProperty("--hatch-line", theme.hatch);
  root.style.setProperty("--hatch-ground", theme.forbidden);
  return theme;
}

// Events between all heads and the stage: SHOWN says what is shown, ASK asks for it.
export const SHOWN_EVENT = "headscope-shown";
export const ASK_EVENT = "headscope-ask";

/** Whether the reader wants no motion. */
export const wantsNoMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
