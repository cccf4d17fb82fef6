// The page around a drawing: its theme, the height available on a stage, and the stage's events.

import { channels, luminance } from "./paint.js";

/** The height from the top of `started` to the bottom of the stage's picture area, in CSS pixels. */
export function roomWithin(picture, started) {
  const space = parseFloat(getComputedStyle(picture).paddingBottom);
  return Math.max(120, picture.getBoundingClientRect().bottom - space - started.getBoundingClientRect().top);
}

/** The page's background colour as "#rrggbb". */
export function pageGround(root) {
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = getComputedStyle(root).getPropertyValue("--st-background-color").trim() || "#ffffff";
  return probe.fillStyle;
}

/** The theme of `{light, dark}` that matches the page; sets the root's colour scheme and hatching to it. */
export function pageTheme(root, themes) {
  const ground = pageGround(root);
  const name = luminance(channels(ground)) < 0.2 ? "dark" : "light";
  const theme = { ...themes[name], name, ground };
  root.style.colorScheme = name;
  root.style.setProperty("--hatch-line", theme.hatch);
  root.style.setProperty("--hatch-ground", theme.forbidden);
  return theme;
}

// Events between explorer and stage: SHOWN says what is shown, ASK asks for it.
export const SHOWN_EVENT = "headscope-shown";
export const ASK_EVENT = "headscope-ask";
