// The walk as a film: at every share of it, where the camera is, and how much of a stop's picture has come.

import { path } from "./camera.js";
import { MODEL } from "./places.js";

/** @import { Guide } from "./guide.js" */
/** @import { ModelView } from "./view.js" */

// The shares of a stop's time at which the camera is there, and its picture too. The rest is for reading.
const [THERE, COME] = [0.3, 0.5];

/** Whether two places lie in one head. @type {(one: Place, other: Place) => boolean} */
const isInHead = (one, other) =>
  "head" in one && "head" in other && one.kind === other.kind && one.layer === other.layer && one.head === other.head;

/** What a file answers or refuses, it does at once. @type {() => Promise<void>} */
const fileAnswers = () => new Promise((done) => setTimeout(done));

/** What shows one share of the walk that a view has begun, from 0 to 1; it stands when every stop has its numbers.
 * @type {(view: ModelView) => Promise<(share: number) => Promise<void>>} */
export async function filmOfWalk(view) {
  const { travel } = view;
  const guide = /** @type {Guide} */ (travel.guide);
  const { stops } = guide.walk;
  view.show(1);
  travel.go(MODEL);
  const seen = [travel.end];
  for (let at = 1; at <= stops.length; at += 1) {
    guide.walk.start(view.figure, at);
    seen.push(travel.end);
    await fileAnswers();
  }
  return async (share) => {
    const along = Math.min(share * stops.length, stops.length - 1e-9);
    const at = Math.floor(along);
    const within = along - at;
    if (guide.stop !== at + 1) {
      guide.walk.start(view.figure, at + 1);
      await fileAnswers();
    }
    // Within a head, all of it is there already.
    guide.hold(isInHead(stops[at].place, stops[at - 1]?.place ?? MODEL) ? 1 : Math.min(1, Math.max(0, (within - THERE) / (COME - THERE))));
    travel.hold(path(seen[at], seen[at + 1], travel.viewport), Math.min(1, within / THERE));
    view.draw();
  };
}
