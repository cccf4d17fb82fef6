// Measures of a head's weights (model/explain/measures.py), which say what each means.
//
// A head is {kind, queries, keys, weights, allowed, tokens}: weights and allowed (query, key), and the
// keys' tokens as the vocabulary spells them.

const SELF = ["encoder", "decoder"];
const EVERY = [...SELF, "cross"];

const LEAST_ROWS = 0.5;
const ROUNDING = 1e-9;
const SMALLEST = 2 ** -126;

/** The places that a share of weight is on; each gives rows of [share, whether the row counts]. */
/** @type {Record<string, (rows: HeadRows) => RowShare[] | null>} */
export const PLACES = {
  previous: neighbour(-1),
  same: neighbour(0),
  next: neighbour(1),
  start: among((token) => token === "<s>"),
  end: among((token) => token === "</s>"),
  punctuation: among((token) => /^▁?\p{P}+$/u.test(token)),
};

/** @type {Record<string, [kinds: string[], of: (rows: HeadRows) => number]>} */
const MEASURED = {
  entropy: [EVERY, (rows) => rows.entropy()],
  entropy_share: [EVERY, (rows) => rows.entropyShare()],
  distance: [SELF, (rows) => rows.distance()],
  previous: [SELF, weightOn("previous")],
  same: [SELF, weightOn("same")],
  next: [["encoder"], weightOn("next")],
  start: [SELF, weightOn("start")],
  end: [["encoder", "cross"], weightOn("end")],
  punctuation: [EVERY, weightOn("punctuation")],
  pairing: [["cross"], (rows) => rows.pairing()],
  diagonal: [EVERY, (rows) => rows.diagonal()],
};

/** Every measure of one head by key; NaN where it does not apply. @type {(head: MeasuredHead) => Facts} */
export function headFacts(head) {
  const rows = new HeadRows(head);
  return Object.fromEntries(
    Object.entries(MEASURED).map(([key, [kinds, of]]) => [key, kinds.includes(head.kind) ? of(rows) : NaN]),
  );
}

/** The shares of a head that spreads its weight evenly over all that it may look at.
 * @type {(head: MeasuredHead) => Facts} */
export function evenShares(head) {
  const rows = new HeadRows(head);
  const even = new HeadRows({ ...head, weights: rows.even() });
  const known = Object.entries(PLACES).map(([key, place]) => ({ key, there: place(even) }));
  return Object.fromEntries(known.flatMap(({ key, there }) => (there ? [[key, mean(there)]] : [])));
}

/** Whether a measure applies to a kind of attention. @type {(key: string, kind: string) => boolean} */
function appliesTo(key, kind) {
  return MEASURED[key]?.[0].includes(kind) ?? false;
}

/** The rows of one head, with what several measures need of them. */
export class HeadRows {
  /** @param {Omit<MeasuredHead, "kind">} head */
  constructor({ queries, keys, weights, allowed, tokens }) {
    this.queries = queries;
    this.keys = keys;
    this.weights = weights;
    this.allowed = allowed;
    this.tokens = tokens;
    this.choices = this.each((query) => this.sum(query, (_, key) => allowed[query * keys + key]));
    this.sums = this.each((query) => this.sum(query, (weight) => weight));
    this.live = this.sums.map((sum) => sum > 0);
    this.total = this.sums.map((sum) => sum || 1);
  }

  /** @type {<Value>(of: (query: number) => Value) => Value[]} */
  each(of) {
    return Array.from({ length: this.queries }, (_, query) => of(query));
  }

  /** @type {(query: number, of: (weight: number, key: number) => number) => number} */
  sum(query, of) {
    let sum = 0;
    for (let key = 0; key < this.keys; key += 1) sum += of(this.weights[query * this.keys + key], key);
    return sum;
  }

  /** Weights spread evenly over the allowed keys. */
  even() {
    return Float32Array.from(this.allowed, (may, cell) => (may ? 1 / this.choices[Math.floor(cell / this.keys)] : 0));
  }

  entropies() {
    return this.each((query) => {
      const own = this.sum(query, (weight) => weight * Math.log2(Math.max(weight, SMALLEST)));
      return Math.max(0, Math.log2(this.total[query]) - own / this.total[query]);
    });
  }

  entropy() {
    return mean(this.entropies().map((value, query) => [value, this.live[query]]));
  }

  entropyShare() {
    const most = (/** @type {number} */ query) => Math.log2(Math.max(this.choices[query], 2));
    return mean(
      this.entropies().map((value, query) => [value / most(query), this.live[query] && this.choices[query] >= 2]),
    );
  }

  distance() {
    if (this.queries !== this.keys) return NaN;
    const away = (/** @type {number} */ query) => this.sum(query, (weight, key) => weight * Math.abs(query - key)) / this.total[query];
    return mean(this.each((query) => [away(query), this.live[query]]));
  }

  diagonal() {
    const moment = (/** @type {number} */ power) =>
      this.each((query) => this.sum(query, (weight, key) => weight * key ** power) / this.total[query]);
    const [first, second] = [moment(1), moment(2)];
    const over = (/** @type {(query: number) => number} */ of) => mean(this.each((query) => [of(query), this.live[query]]));
    const query = over((place) => place);
    const key = over((place) => first[place]);
    const queryVariance = over((place) => place * place) - query * query;
    const keyVariance = over((place) => second[place]) - key * key;
    const known = queryVariance > ROUNDING * query * query && keyVariance > ROUNDING * key * key;
    if (!known) return NaN;
    const covariance = over((place) => place * first[place]) - query * key;
    return Math.min(1, Math.max(-1, covariance / Math.sqrt(queryVariance * keyVariance)));
  }

  pairing() {
    const rows = this.live.filter(Boolean).length;
    const most = Math.log2(Math.max(1, Math.min(rows, this.keys)));
    if (!most) return NaN;
    let overall = 0;
    for (let key = 0; key < this.keys; key += 1) {
      let share = 0;
      for (let query = 0; query < this.queries; query += 1) {
        if (this.live[query]) share += this.weights[query * this.keys + key] / this.total[query] / rows;
      }
      if (share) overall -= share * Math.log2(share);
    }
    return Math.max(0, overall - this.entropy()) / most;
  }
}

/** @type {(key: string) => (rows: HeadRows) => number} */
function weightOn(key) {
  return (rows) => {
    const there = PLACES[key](rows);
    if (!there || there.filter(([, counts]) => counts).length < LEAST_ROWS * rows.queries) return NaN;
    return mean(there);
  };
}

/** @type {(offset: number) => (rows: HeadRows) => RowShare[] | null} */
function neighbour(offset) {
  return (rows) => {
    if (rows.queries !== rows.keys) return null;
    const within = rows.each((query) => query).filter((query) => query + offset >= 0 && query + offset < rows.keys);
    return within.map((query) => {
      const cell = query * rows.keys + query + offset;
      return [rows.weights[cell], rows.allowed[cell] === 1 && rows.choices[query] >= 2];
    });
  };
}

/** @type {(counts: (token: string) => boolean) => (rows: HeadRows) => RowShare[] | null} */
function among(counts) {
  return (rows) => {
    const columns = rows.tokens.map((token, key) => (counts(token) ? key : -1)).filter((key) => key >= 0);
    if (!columns.length) return null;
    return rows.each((query) => {
      const cells = columns.map((key) => query * rows.keys + key);
      const share = cells.reduce((sum, cell) => sum + rows.weights[cell], 0);
      return [share, rows.choices[query] >= 2 && cells.some((cell) => rows.allowed[cell])];
    });
  };
}

/** @type {(values: RowShare[]) => number} */
function mean(values) {
  const counting = values.filter(([, counts]) => counts);
  return counting.length ? counting.reduce((sum, [value]) => sum + value, 0) / counting.length : NaN;
}

/** A number with so many decimals, to the even one of two equally near, with a true minus sign.
 * @type {(value: number, digits: number) => string} */
export function decimals(value, digits) {
  const scaled = value * 10 ** digits;
  const below = Math.floor(scaled);
  const tied = scaled - below === 0.5;
  const shown = tied ? (below % 2 ? below + 1 : below) / 10 ** digits : value;
  const text = shown.toFixed(digits);
  return (Number(text) ? text : text.replace("-", "")).replace("-", "−");
}

/** A value with its unit: "38%", "1.23 bits", "1.4 tokens", "0.81". @type {(unit: string, value: number) => string} */
function withUnit(unit, value) {
  if (unit === "share") return `${decimals(100 * value, 0)}%`;
  if (unit === "bits") return `${decimals(value, 2)} bits`;
  return unit === "tokens" || unit === "words" ? `${decimals(value, 1)} ${unit}` : decimals(value, 2);
}

/** A head in numbers, in one line: how wide its rows are, where most of their weight is, how far.
 * @type {(kind: string, facts: Facts, measures: Measure[]) => string} */
export function headNumbers(kind, facts, measures) {
  const known = new Map(
    measures.filter(({ key }) => appliesTo(key, kind) && !Number.isNaN(facts[key])).map((measure) => [measure.key, measure]),
  );
  const value = (/** @type {string} */ key) => withUnit(known.get(key)?.unit ?? "", facts[key]);
  const named = (/** @type {string} */ key) => (known.get(key)?.name ?? "").replace(/^./, (letter) => letter.toLowerCase());
  const parts = [];
  if (known.has("entropy")) {
    parts.push(value("entropy") + (known.has("entropy_share") ? ` (${value("entropy_share")} of the maximum)` : ""));
  }
  const places = [...known.keys()].filter((key) => key in PLACES);
  if (places.length) {
    const most = places.reduce((best, key) => (facts[key] > facts[best] ? key : best));
    parts.push(`${value(most)} of the ${named(most)}`);
  }
  if (known.has("pairing")) parts.push(`pairing ${value("pairing")}`);
  const far = ["distance", "diagonal"].find((key) => known.has(key));
  if (far) parts.push(`${named(far)} ${value(far)}`);
  return parts.join(", ") || "no row to measure";
}
