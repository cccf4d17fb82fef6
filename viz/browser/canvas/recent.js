// Keeps what was made last, up to a total size.

/** @template Made */
export class Recent {
  /** @type {Map<string, { made: Made, size: number }>} */
  known = new Map();
  size = 0;

  /** @param {number} most */
  constructor(most) {
    this.most = most;
  }

  /** The value of a name: the one that is kept, or else one made now, of a given size. @type {(name: string, size: number, make: () => Made) => Made} */
  of(name, size, make) {
    const before = this.known.get(name);
    const entry = before ?? { made: make(), size };
    // Taken again, it is the last to go.
    this.known.delete(name);
    this.known.set(name, entry);
    if (!before) this.size += size;
    for (const [other, { size: its }] of this.known) {
      if (this.size <= this.most || other === name) break;
      this.known.delete(other);
      this.size -= its;
    }
    return entry.made;
  }
}
