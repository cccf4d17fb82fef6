// The camera's way to a place, frame by frame.

/** A frame is late after so many milliseconds. After more than so many late frames, what opens on the way is drawn only on arrival. */
const [LATE, MOST_LATE] = [40, 2];

export class Way {
  /** The times of its first frame and of its latest one. @type {number | null} */
  began = null;
  seen = 0;
  late = 0;

  /** @param {CameraPath} path @param {(() => void) | null} [comes] - called on arrival. */
  constructor(path, comes = null) {
    this.path = path;
    this.comes = comes;
  }

  /** The share of the way at a frame. @param {number} now */
  step(now) {
    this.began ??= this.seen = now;
    this.late += Number(now - this.seen > LATE);
    this.seen = now;
    return Math.min(1, (now - this.began) / this.path.duration);
  }

  /** Whether too many frames came late to draw what opens on the way. */
  get isLate() {
    return this.late > MOST_LATE;
  }
}
