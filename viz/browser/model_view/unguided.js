// In the place of a guide (guide.js) beside a panel, where one is at a head and not on a way: everything is there at once.

export class Unguided {
  /** @type {Guiding["parts"]} */
  parts = [];
  /** @type {Guiding["ways"]} */
  ways = [];
  stop = 0;
  /** @type {Guiding["moves"]} */
  moves = null;
  share = 1;
  beside = 0;
  invitation = "";
  acts = "";

  take() {}
  measure() {}
  came() {}
  dispose() {}

  key() {
    return false;
  }

  swiped() {
    return false;
  }
}
