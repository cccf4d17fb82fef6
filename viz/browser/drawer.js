// Closes the navigation drawer: Streamlit does so only for mobile user agents, and remembers an open one.

import { mounted } from "./canvas/mount.js";

class Drawer {
  constructor() {
    document.addEventListener("click", this.close);
  }

  close = (/** @type {Event} */ event) => {
    if (!(event.target instanceof Element) || !event.target.closest('[data-testid="stSidebarNavLink"]')) return;
    // After Streamlit has handled the click: if it closes the drawer itself, the button is gone.
    setTimeout(() => document.querySelector('[data-testid="stSidebarCollapseButton"]')?.querySelector("button")?.click());
  };

  update() {}

  dispose() {
    document.removeEventListener("click", this.close);
  }
}

export default mounted("span", () => new Drawer());
