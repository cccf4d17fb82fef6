// The animation's timeline: the sentence passes through the encoder once, and each token through the decoder.

import { tr } from "../canvas/wording.js";

// Milliseconds.
const READ_LAYER = 340;
const READ_AT_MOST = 2400;
const ENTER = 180;
const ALL_LAYERS = 840;
const WRITE = 380;
// Long sentences play faster.
const WRITTEN_AT_MOST = 45_000;

/** @typedef {{ phase: "read" | "enter" | "layer" | "write", step: number, layer: number }} Part */

/** The segments of the animation and its rests, in milliseconds. */
export class Timeline {
  /**
   * @param {object} model
   * @param {number} model.encoder - number of encoder layers.
   * @param {number} model.decoder - number of decoder layers.
   * @param {number} model.steps - tokens that pass through the decoder.
   */
  constructor({ encoder, decoder, steps }) {
    /** @type {(Part & { from: number, to: number })[]} */
    this.segments = [];
    this.duration = 0;
    const read = Math.min(READ_LAYER, READ_AT_MOST / Math.max(encoder, 1));
    for (let layer = 0; layer < encoder; layer++) this._add({ phase: "read", step: -1, layer }, read);
    const pace = Math.min(1, WRITTEN_AT_MOST / Math.max(1, steps * (ENTER + ALL_LAYERS + WRITE)));
    for (let step = 0; step < (decoder ? steps : 0); step++) {
      this._add({ phase: "enter", step, layer: -1 }, ENTER * pace);
      for (let layer = 0; layer < decoder; layer++) this._add({ phase: "layer", step, layer }, (ALL_LAYERS / decoder) * pace);
      this._add({ phase: "write", step, layer: decoder }, WRITE * pace);
    }
    const rests = this.segments.filter(({ phase }) => phase === (decoder ? "write" : "read"));
    this.rests = rests.map(({ to }) => to);
    this.encoder = encoder;
    this.decoder = decoder;
  }

  /** @type {(segment: Part, length: number) => void} */
  _add(segment, length) {
    this.segments.push({ ...segment, from: this.duration, to: this.duration + length });
    this.duration += length;
  }

  /** The segment at a time and the share of it that is done; at a segment's end, that segment with share 1.
   * @type {(time: number) => Part & { share: number; place: number; encoded: number; written: number; entered: number }} */
  at(time) {
    const { segments } = this;
    let [low, high] = [0, segments.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (segments[middle].to >= time) high = middle;
      else low = middle + 1;
    }
    const { phase, step, layer, from, to } = segments[low];
    const share = Math.min(1, Math.max(0, (time - from) / (to - from)));
    const decodes = phase !== "read";
    return {
      ...{ phase, step, layer, share, place: low },
      /** Encoder layers done, with a fraction. */
      encoded: decodes ? this.encoder : layer + share,
      /** Tokens written, with a fraction. */
      written: decodes ? step + (phase === "write" ? share : 0) : 0,
      /** Tokens inside the decoder, with a fraction. */
      entered: decodes ? step + (phase === "enter" ? share : 1) : 0,
    };
  }

  /** Rows of a decoder layer computed at a moment, with a fraction. @type {(moment: Moment, layer: number) => number} */
  rowsOf(moment, layer) {
    if (moment.phase === "read") return 0;
    if (moment.layer === layer) return moment.step + moment.share;
    return moment.step + (moment.layer > layer ? 1 : 0);
  }

  /** The last rest reached, counted from 1; 0 before the first. @type {(time: number) => number} */
  restAt(time) {
    return this.rests.filter((rest) => rest <= time + 0.5).length;
  }

  /** The time of a rest, counted from 1 and clamped to the sentence. @type {(rest: number) => number} */
  timeOf(rest) {
    return this.rests[Math.min(Math.max(rest, 1), this.rests.length) - 1];
  }

  /** The time of the rest before or after a time. @type {(time: number, way: number) => number} */
  restBy(time, way) {
    const reached = this.restAt(time);
    if (way > 0) return this.timeOf(reached + 1);
    const stands = reached && Math.abs(this.timeOf(reached) - time) < 1;
    return reached - (stands ? 1 : 0) < 1 ? 0 : this.timeOf(reached - (stands ? 1 : 0));
  }

  /** The time one layer down or up. @type {(time: number, way: number) => number} */
  layerBy(time, way) {
    const { place, share } = this.at(time);
    const to = way > 0 ? (share < 1 ? place : place + 1) : place - 1;
    if (to < 0) return 0;
    return this.segments[Math.min(to, this.segments.length - 1)].to;
  }
}

/** A key's command: `{time}` to go to, `{plays}` to play or pause; null for other keys.
 * @type {(key: string, time: number, timeline: Timeline) => { time?: number; plays?: boolean } | null} */
export function keyAsked(key, time, timeline) {
  /** @type {Record<string, () => number>} */
  const times = {
    ArrowLeft: () => timeline.restBy(time, -1),
    ArrowRight: () => timeline.restBy(time, 1),
    ArrowDown: () => timeline.layerBy(time, -1),
    ArrowUp: () => timeline.layerBy(time, 1),
    Home: () => 0,
    End: () => timeline.duration,
  };
  if (key in times) return { time: times[key]() };
  return key === "k" || key === " " ? { plays: true } : null;
}

/** Which of so many tokens a key goes to from one of them, -1 for none; null where it goes to none.
 * @type {(key: string, from: number, count: number) => number | null} */
export function followedBy(key, from, count) {
  /** @type {Record<string, number | undefined>} */
  const places = { ArrowLeft: from < 0 ? count - 1 : from - 1, ArrowRight: from + 1, Home: 0, End: count - 1 };
  const to = places[key];
  return to === undefined ? null : Math.min(Math.max(to, 0), count - 1);
}

/** A moment in words.
 * @type {(moment: Moment, figure: Pick<Figure, "depth" | "encoder" | "offset">, count: number) => string} */
export function spokenMoment(moment, figure, count) {
  if (moment.phase === "read") return tr("Reading: layer {layer} of {count}", { layer: moment.layer + 1, count: figure.depth(figure.encoder) });
  return tr(figure.offset ? "Writing {step} of {count}" : "Reading {step} of {count}", { step: moment.step + 1, count });
}
