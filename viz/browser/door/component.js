// Figure 1 as a component of a page.

import { mounted } from "../canvas/mount.js";
import { Door } from "./door.js";

export default mounted(".door", (root) => new Door(root), "rested");
