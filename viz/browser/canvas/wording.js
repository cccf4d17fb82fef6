// The components' words in the language of the page: English in the app, others in the site (viz/site/wording/).

import { localized, millions, signed } from "./numbers.js";

// Fields of an envelope's header with words for a reader; others have tokens, numbers and names of things.
const FIELDS = new Set([
  ...["name", "short", "caption", "notes", "queryTitle", "keyTitle", "besideTitle", "does", "said"],
  ...["acts", "facts", "label", "labels", "tendency", "share", "reason", "sentence", "numbers"],
]);

/** How languages choose among plural forms: to make one takes much longer than to ask it.
 * @type {Map<string, Intl.PluralRules>} */
const PLURALS = new Map();

/** @type {(language: string) => Intl.PluralRules} */
function pluralsOf(language) {
  const made = PLURALS.get(language) ?? new Intl.PluralRules(language);
  PLURALS.set(language, made);
  return made;
}

/** Gives the words of a language, by the English ones, to all components of this page: what they say, and what is in headers.
 * @type {(language: string, words: { said: Phrases; headers: Phrases }) => void} */
export function wordIn(language, { said, headers }) {
  globalThis.headscopeWording = { language, texts: { ...said, ...headers }, patterns: patternsOf(headers), known: new Map() };
}

/** An English text, with its singular `one` where it has a count `n`, in the language of the page; values go in place of {names}.
 * @type {(english: string, values?: Values, one?: string) => string} */
export function tr(english, values = {}, one = english) {
  const { language, texts } = globalThis.headscopeWording ?? { language: "en", texts: /** @type {Phrases} */ ({}) };
  if (Object.hasOwn(texts, english)) return phrased(texts[english], values, language);
  return phrased({ one, other: english }, values, "en");
}

/** A count with its noun: "1 layer", "12 heads". @type {(count: number, noun: string) => string} */
export function countOf(count, noun) {
  return tr(`{n} ${noun}s`, { n: count }, `{n} ${noun}`);
}

/** What is said of a name: "Weight: 0.5". @type {(name: string, text: string) => string} */
export function labelled(name, text) {
  return tr("{name}: {text}", { name, text });
}

/** A text, or its plural form for the value of `n`, with values in place of {names}; numbers are written as the language has them.
 * @type {(entry: Phrase, values: Values, language: string) => string} */
export function phrased(entry, values, language) {
  const text = typeof entry === "string" ? entry : (entry[pluralsOf(language).select(Number(values.n))] ?? entry.other);
  const spelled = (/** @type {string | number} */ value) => (typeof value === "number" ? signed(value, null, language) : String(value));
  return text.replace(/\{(\w+)\}/g, (place, name) => spelled(values[name] ?? place));
}

/** A name within a sentence: nouns stay large in German, and Chinese has no small letters.
 * @type {(text: string) => string} */
export function lowered(text) {
  return globalThis.headscopeWording?.language === "de" ? text : text.toLowerCase();
}

/** The header of an envelope with its words in the language of the page. @type {<Header>(header: Header) => Header} */
export function worded(header) {
  return globalThis.headscopeWording ? /** @type {typeof header} */ (wordedValue(header, "")) : header;
}

/** @type {(value: unknown, field: string) => unknown} */
function wordedValue(value, field) {
  if (typeof value === "string") return FIELDS.has(field) ? wordedText(value) : value;
  if (Array.isArray(value)) return value.map((each) => wordedValue(each, field));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, wordedValue(each, name)]));
}

/** A text that was made in English: known as a whole, or by the words around what it says; else unchanged.
 * @type {(text: string) => string} */
function wordedText(text) {
  const { texts, patterns, known } = /** @type {Wording} */ (globalThis.headscopeWording);
  if (Object.hasOwn(texts, text)) return tr(text);
  const words = known.get(text) ?? matched(text, patterns);
  known.set(text, words);
  return words;
}

/** @type {(text: string, patterns: Pattern[]) => string} */
function matched(text, patterns) {
  for (const { english, names, longest, pattern } of patterns) {
    const [, ...values] = text.includes(longest) ? (pattern.exec(text) ?? []) : [];
    if (values.length) return tr(english, Object.fromEntries(values.map((value, place) => [names[place], wordedPart(names[place], value)])));
  }
  return text;
}

/** A count chooses among plural forms; other values may have words of their own, as has a sentence within a sentence.
 * @type {(name: string, value: string) => string | number} */
function wordedPart(name, value) {
  if (name === "n") return Number(value.replaceAll(",", ""));
  if (name === "million") return millions(value);
  if (name !== "clause") return localized(wordedText(value));
  const sentence = wordedText(value[0].toUpperCase() + value.slice(1));
  return sentence[0].toLowerCase() + sentence.slice(1);
}

/** What texts with places for values look like, the most particular first. @type {(texts: Phrases) => Pattern[]} */
function patternsOf(texts) {
  const made = Object.keys(texts).flatMap((english) => {
    const parts = english.split(/\{(\w+)\}/);
    const [literals, names] = [0, 1].map((odd) => parts.filter((_, place) => place % 2 === odd));
    const longest = literals.reduce((one, other) => (other.length > one.length ? other : one));
    if (!names.length || longest.length < 2) return [];
    const spelled = literals.map((literal) => literal.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const body = spelled.map((literal, place) => literal + (place < names.length ? (names[place] === "n" ? "([\\d,]+)" : "(.+?)") : ""));
    return [{ english, names, longest, pattern: new RegExp(`^${body.join("")}$`, "s") }];
  });
  // What joins two parts comes last, as the catalogue has it: the weakest joint is where a text is taken apart first.
  const isJoint = (/** @type {Pattern} */ { english }) => Number(/^\{first\}.{2,4}\{rest\}$/.test(english));
  return made.sort((one, other) => isJoint(one) - isJoint(other) || (isJoint(one) ? 0 : other.english.length - one.english.length));
}
