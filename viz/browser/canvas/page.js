// The page around a drawing: its theme, and the room and the foot that a stage has.

import { channels, luminance } from "./paint.js";

/** The height from an element's upper edge down to the end of the picture's place on a stage. */
export function roomWithin(picture, started) {
  const space = parseFloat(getComputedStyle(picture).paddingBottom);
  return Math.max(120, picture.getBoundingClientRect().bottom - space - started.getBoundingClientRect().top);
}

/** The page's background as "#rrggbb". */
export function pageGround(root) {
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = getComputedStyle(root).getPropertyValue("--st-background-color").trim() || "#ffffff";
  return probe.fillStyle;
}

/** The theme of `{light, dark}` that goes with the page, which the root then knows as well. */
export function pageTheme(root, themes) {
  const ground = pageGround(root);
  const name = luminance(channels(ground)) < 0.2 ? "dark" : "light";
  const theme = { ...themes[name], name, ground };
  root.style.colorScheme = name;
  root.style.setProperty("--hatch-line", theme.hatch);
  root.style.setProperty("--hatch-ground", theme.forbidden);
  return theme;
}

// Between the explorer and the foot of the stage: what is shown now, and the question for it.
export const SHOWN_EVENT = "headscope-shown";
export const ASK_EVENT = "headscope-ask";
