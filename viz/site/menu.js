// What opens below a word of the frame, and closes as menus do.

import { element } from "../browser/canvas/dom.js";

/** A closed menu with what stands in it. @type {(name: string, ...held: Node[]) => HTMLDetailsElement} */
export function menuOf(name, ...held) {
  const menu = element("details", "menu", {}, element("summary", "", {}, name), element("div", "sheet", {}, ...held));
  menu.addEventListener("click", ({ target }) => target instanceof Element && target.closest(".sheet :is(a, button)") && close(menu));
  return menu;
}

/** @type {(menu: HTMLDetailsElement) => void} */
function close(menu) {
  const isWithin = menu.contains(document.activeElement);
  menu.open = false;
  // What has the focus is about to be hidden.
  if (isWithin) menu.querySelector("summary")?.focus();
}

/** Closes menus when something else is clicked or reached by keys, and on Escape. */
export function closeMenus() {
  const closeOthers = (/** @type {EventTarget | null} */ target) => {
    for (const menu of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll(".menu[open]"))) {
      if (!(target instanceof Node && menu.contains(target))) close(menu);
    }
  };
  for (const type of ["pointerdown", "focusin"]) document.addEventListener(type, ({ target }) => closeOthers(target));
  document.addEventListener("keydown", ({ key }) => key === "Escape" && closeOthers(null));
}
