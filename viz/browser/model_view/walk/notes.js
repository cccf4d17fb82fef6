// What a speaker may say at each stop.

import notes from "./notes.json" with { type: "json" };

/** Two spoken sentences on a stop, in English as the talk's are. @type {(stop: Stop) => string} */
export function noteOf({ name }) {
  return notes[name];
}
