// The page's own words in the reader's language, from one catalogue a language (words/), and those of the app's
// components, from another (wording/).

import { phrased, wordIn } from "../browser/canvas/wording.js";

/** @type {Record<string, string>} */
export const LANGUAGES = { en: "English", de: "Deutsch", fr: "Français", es: "Español", zh: "中文" };

/** Words of the components: what they say, and what is in headers. @typedef {{ said: Phrases, headers: Phrases }} Catalogue */

const PSEUDO = "en-x-pseudo";

let language = "en";
/** @type {Phrases} */
let catalogue = {};

/** The language to use: the one that is asked for, or the first of the reader's own that there is, or English.
 * @type {(asked: string | undefined, own: readonly string[]) => string} */
export function languageOf(asked, own) {
  if (asked === PSEUDO || (asked && Object.hasOwn(LANGUAGES, asked))) return asked;
  return own.map((tag) => tag.toLowerCase().split("-")[0]).find((tag) => Object.hasOwn(LANGUAGES, tag)) ?? "en";
}

/** Makes one of the catalogues, by language, the one that `say` reads, and one of `wording` that of the components.
 * @type {(name: string, catalogues: Record<string, Phrases>, wording?: Record<string, Catalogue | undefined>) => void} */
export function speak(name, catalogues, wording = {}) {
  language = name === PSEUDO ? "en" : name;
  catalogue = name === PSEUDO ? pseudo(catalogues.en) : catalogues[name];
  const components = name === PSEUDO ? wording.de && pseudoWording(wording.de) : wording[name];
  if (components) wordIn(language, components);
}

/** The words of a key, with its values in place of {names}, where there are some; `n` chooses among plural forms.
 * @type {(key: string, values?: Values) => string} */
export function say(key, values = {}) {
  const entry = catalogue[key];
  if (entry === undefined) throw new Error(`The catalogue of ${language} lacks ${key}.`);
  return phrased(entry, values, language);
}

/** English made a third longer and marked, to show where words do not fit or do not come from a catalogue.
 * @type {(english: Phrases) => Phrases} */
export function pseudo(english) {
  const longer = (/** @type {string} */ text) => `⟦${text}${"·".repeat(Math.ceil(text.length / 3))}⟧`;
  /** @type {(entry: Phrase) => Phrase} */
  const of = (entry) =>
    typeof entry === "string" ? longer(entry) : { other: "", ...Object.fromEntries(Object.entries(entry).map(([form, text]) => [form, longer(text ?? "")])) };
  return Object.fromEntries(Object.entries(english).map(([key, entry]) => [key, of(entry)]));
}

/** The same for the components' words, whose English is in the keys. @type {(catalogue: Catalogue) => Catalogue} */
function pseudoWording(catalogue) {
  const own = (/** @type {Phrases} */ part) => pseudo(Object.fromEntries(Object.keys(part).map((text) => [text, text])));
  return { said: own(catalogue.said), headers: own(catalogue.headers) };
}
