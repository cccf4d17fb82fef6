// One way of the camera, frame by frame.

/** In milliseconds, a frame that came late; after so many on a way, what is written there waits for its end. */
const [LATE, MOST_LATE] = [40, 2];

export class Way {
  /** When its first frame and its last one came. @type {number | null} */
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

  /** Whether frames come too late to draw all that opens on the way. */
  get isLate() {
    return this.late > MOST_LATE;
  }
}
