// The explorer as a component of a page.

import { mounted } from "../canvas/mount.js";
import { Explorer } from "./explorer.js";

export default mounted(".explorer", (root) => new Explorer(root), "selection");
