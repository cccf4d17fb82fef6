// The explorer as a component of a page.

import { mounted } from "../canvas/mount.js";
import { Explorer } from "./explorer.js";

// Outside the app, an engine in the page may stand for Python.
/** @type {(root: HTMLElement) => { canAskPython?: boolean; canRun?: boolean }} */
const optionsOf = ({ dataset }) => ("engine" in dataset ? { canAskPython: false, canRun: true } : {});

export default mounted(".explorer", (root) => new Explorer(root, optionsOf(root)), "selection");
