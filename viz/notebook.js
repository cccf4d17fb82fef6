// Tells a frame in a notebook, which sees nothing around it, whether that is dark. It stands in the frame's `onload`:
// marimo puts what has a script into a frame of its own.

import { isOnDark } from "./browser/canvas/on_dark.js";

const frame = /** @type {HTMLIFrameElement} */ (event?.target);
const tell = () => frame.contentWindow?.postMessage({ theme: isOnDark(frame) ? "dark" : "light" }, "*");
new MutationObserver(tell).observe(document.body, { attributes: true });
tell();
