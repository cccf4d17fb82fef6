// An act as a component of a page.

import { mounted } from "../canvas/mount.js";
import { ActView } from "./view.js";

export default mounted(".act", (root) => new ActView(root));
