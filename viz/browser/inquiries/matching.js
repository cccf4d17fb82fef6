// Which questions are meant by what somebody typed, best first.
//
// What is typed becomes ideas: its words without the common ones, each by its stem, and by one name for all words
// of a kind ("download", "export": save). The same is done to every question and to the ways in which people type it
// (ways.json). A question fits if it has most of the ideas typed, each weighted by how few questions have it. A word
// that no question has weighs most, so a question about something else has no answer.

import { COMMON, FRAMES, KINDS } from "./vocabulary.js";
import ways from "./ways.json" with { type: "json" };

// How much a likeness counts of one that is sure: a word elsewhere among the ways to type a question, one with a
// slip of the keyboard, the beginning of one, and one that may be a word of the sentence or have its own meaning.
const ELSEWHERE = 0.75;
const MISTYPED = 0.75;
const BEGUN = 0.9;
const MAYBE = 0.8;

// How much a fit counts by the kinds of questions: bare words mean rather what something is, or how to do it.
const AT_ONCE = new Set(["mean", "do", ""]);
const SOME_KIND = 0.95;
const UNKNOWN_KIND = 0.9;
const OTHER_KIND = 0.72;

// What a word that other questions have weighs beside one that none has.
const OFTEN = 0.75;

// The greatest weight of a word; the share of what was typed that a question must have; the share of a question that
// a whole question must have, and how well it must fit; the share of the best fit down to which others are shown.
const MOST = 4;
const ENOUGH = 0.53;
const LEAST = 0.4;
const WHOLE = 0.55;
const SHOWN = 0.55;

// What the same words in all add to a fit.
const SAME = 0.08;

/** A key, a text, the text before words were put in, and the text where words are named.
 * @typedef {[key: string, text: string, template?: string, named?: string]} Question */
/** @typedef {[key: string, text: string]} Answer */
/** A word and the place of its first token, from 1. @typedef {[text: string, place: number]} Named */
/** @typedef {{ written?: Named[], read?: Named[] }} Words */
/** An idea that was typed: its names, each with how surely it is meant, and the places of named words, 0 for none.
 * @typedef {{ names: [string, number][], slots: { word: number, source: number } }} Idea */
/** @typedef {{ words: string[], ideas: Set<string>, kind: string }} Phrased */
/** @typedef {{ question: Question, place: number, phrases: Phrased[], all: Set<string> }} Entry */
/** @typedef {{ entries: Entry[], known: Set<string>, counts: Map<string, number>, weight: (idea: string) => number }} Index */
/** @typedef {{ share: number, total: number }} Fit */

/** @type {Record<string, string[] | undefined>} */
const WAYS = ways;

const SLOT = /\{(word|source)\}/;

/** The words of a text: small letters and digits without accents. @type {(text: string) => string[]} */
export function wordsOf(text) {
  return text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[’'](?=\p{L})/gu, "")
    .split(/[^\p{L}\p{N}<>/{}√_]+/u)
    .map((word) => (/[<>{]/.test(word) ? word : word.replaceAll("/", " ")))
    .flatMap((word) => word.split(" "))
    .filter(Boolean);
}

/** Whether one word becomes the other by one letter more or less, by two swapped, or, in a long word, by one changed.
 * @type {(typed: string, word: string) => boolean} */
export function isMistyped(typed, word) {
  if (typed.length < 3 || typed === word || Math.abs(typed.length - word.length) > 1 || typed[0] !== word[0]) return false;
  let start = 0;
  while (typed[start] === word[start] && start < typed.length) start++;
  const [one, other] = [typed.slice(start), word.slice(start)];
  return (
    one.slice(1) === other ||
    one === other.slice(1) ||
    (typed.length > 5 && one.slice(1) === other.slice(1)) ||
    (one[0] === other[1] && one[1] === other[0] && one.slice(2) === other.slice(2))
  );
}

/** A word without the endings of its other forms. @type {(word: string) => string} */
export function stem(word) {
  if (word.length < 4 || /[<>{]/.test(word)) return word;
  return word
    .replace(/ies$/, "y")
    .replace(/(ss|sh|ch|x|z)es$/, "$1")
    .replace(/([^su])s$/, "$1")
    .replace(/(\w{3,})(ing|ed|ly)$/, "$1")
    .replace(/([bdgklmnprt])\1$/, "$1")
    .replace(/(\w{3,})e$/, "$1");
}

/** @type {Map<string, string>} */
const NAMES = new Map();
for (const kind of KINDS) {
  const [name, ...others] = kind.split(" ");
  for (const word of [name, ...others]) NAMES.set(stem(word), name);
}

/** @type {(word: string) => string} */
const nameOf = (word) => NAMES.get(stem(word)) ?? stem(word);

/** What kind of question it is: one of those of FRAMES, or "" for a text that is none. @type {(text: string) => string} */
export function kindOf(text) {
  const plain = ` ${wordsOf(text).join(" ")} `;
  return FRAMES.find(([, frame]) => frame.test(plain))?.[0] ?? "";
}

/** @type {(word: string) => boolean} */
const isCommon = (word) => COMMON.has(word) || /^\d+$/.test(word);

/** @type {(text: string) => Set<string>} */
const ideasOf = (text) => new Set(wordsOf(text).filter((word) => !isCommon(word)).map(nameOf));

/** @type {WeakMap<Question[], Index>} */
const indexed = new WeakMap();

/** Questions by their ideas; made once for a list of them. @type {(questions: Question[]) => Index} */
function indexOf(questions) {
  const made = indexed.get(questions);
  if (made) return made;
  const known = new Set(COMMON);
  /** @type {Map<string, number>} */
  const counts = new Map();
  const entries = questions.map((question, place) => {
    const [key, text, template = text, named = ""] = question;
    const kind = kindOf(template);
    const listed = [template, named, ...(WAYS[key] ?? [])].filter(Boolean);
    const phrases = listed.map((phrase) => ({ words: wordsOf(phrase), ideas: ideasOf(phrase), kind: kindOf(phrase) || kind }));
    for (const phrase of listed) for (const word of wordsOf(phrase)) known.add(word);
    const all = new Set(phrases.flatMap(({ ideas }) => [...ideas]));
    for (const idea of all) counts.set(idea, (counts.get(idea) ?? 0) + 1);
    return { question, place, phrases, all };
  });
  for (const kind of KINDS) for (const word of kind.split(" ")) known.add(word);
  const weight = (/** @type {string} */ idea) => Math.min(MOST, Math.log(1 + questions.length / (counts.get(idea) ?? 0.5)));
  const index = { entries, known, weight, counts };
  indexed.set(questions, index);
  return index;
}

/** What was typed with words of every question spelled right. @type {(typed: string, index: Index) => string[]} */
function corrected(typed, index) {
  return wordsOf(typed).map((word) => {
    if (index.known.has(word) || /\d/.test(word)) return word;
    return [...COMMON].find((other) => other.length > 2 && isMistyped(word, other)) ?? word;
  });
}

/** The ideas of words that were typed: names, each with how surely it is meant, and the places of named words.
 * @type {(typed: string, index: Index, words: Words) => Idea[]} */
function typedIdeas(typed, index, words) {
  /** @type {Idea[]} */
  const found = [];
  const raw = corrected(typed, index);
  const quotes = new Set(quoted(typed).flatMap(wordsOf));
  // As nouns are in German; the first word of a question has a capital of its own.
  const capitals = new Set((typed.match(/(?<=[\p{L},] )\p{Lu}\p{Ll}+/gu) ?? []).flatMap(wordsOf));
  raw.forEach((word, place) => {
    const slots = { word: placeOf(word, words.written), source: placeOf(word, words.read) };
    const isNamed = Boolean(slots.word || slots.source);
    if (isNamed && (quotes.has(word) || capitals.has(word))) found.push({ names: [], slots });
    else if (isCommon(word)) return;
    else if (index.counts.has(nameOf(word))) found.push({ names: [[nameOf(word), 1]], slots });
    else if (isNamed) found.push({ names: [], slots });
    else if (halves(word, index.known)) for (const half of halves(word, index.known) ?? []) found.push({ names: [[nameOf(half), 1]], slots });
    else {
      /** @type {Idea["names"]} */
      const names = [];
      const isLast = place === raw.length - 1 && !/[\s?.!]$/.test(typed);
      for (const other of index.known) {
        if (COMMON.has(other)) continue;
        if (word.length > 4 && other.length > 3 && isMistyped(word, other)) names.push([nameOf(other), MISTYPED]);
        else if (isLast && word.length > 1 && other.startsWith(word)) names.push([nameOf(other), BEGUN]);
      }
      found.push({ names, slots });
    }
  });
  return found;
}

/** The two known words of which a word is made, such as "multihead"; null for none.
 * @type {(word: string, known: Set<string>) => string[] | null} */
function halves(word, known) {
  for (let cut = 4; cut <= word.length - 4; cut++) {
    const parts = [word.slice(0, cut), word.slice(cut)];
    if (parts.every((part) => known.has(part) && !COMMON.has(part))) return parts;
  }
  return null;
}

/** @type {(text: string) => string[]} */
const quoted = (text) => [...text.matchAll(/["“„”«'‘]([^"“”„»'’]+)["“”»'’]/gu)].map((match) => match[1]);

/** The place of a word of the sentence, from 1; 0 for none. @type {(word: string, listed?: Named[]) => number} */
function placeOf(word, listed = []) {
  const found = word && listed.find(([text]) => wordsOf(text).join(" ") === word);
  return found ? found[1] : 0;
}

/** @type {(idea: Idea, ideas: Set<string>) => number} */
function likeness(idea, ideas) {
  let best = 0;
  for (const [name, sure] of idea.names) if (ideas.has(name)) best = Math.max(best, sure);
  if (!best && ((idea.slots.word && ideas.has("{word}")) || (idea.slots.source && ideas.has("{source}")))) best = idea.names.length ? MAYBE : 1;
  return best;
}

/** @type {(entry: Entry, phrase: Phrased, ideas: Idea[], kind: string, weight: Index["weight"]) => Fit} */
function score(entry, phrase, ideas, kind, weight) {
  let covered = 0;
  let typed = 0;
  const matched = new Set();
  for (const idea of ideas) {
    const own = Math.max(0, ...idea.names.filter(([name]) => entry.all.has(name)).map(([name]) => weight(name)));
    const known = Math.max(0, ...idea.names.map(([name]) => weight(name)));
    const isSlot = idea.slots.word || idea.slots.source;
    const worth = own || OFTEN * known || (isSlot ? weight("{word}") : weight(""));
    typed += worth;
    const here = likeness(idea, phrase.ideas);
    covered += worth * (here || ELSEWHERE * likeness(idea, entry.all));
    if (here) {
      for (const [name] of idea.names) if (phrase.ideas.has(name)) matched.add(name);
      if (isSlot) matched.add("{word}").add("{source}");
    }
  }
  if (!phrase.ideas.size) return { share: 0, total: 0 };
  let meant = 0;
  let had = 0;
  for (const idea of phrase.ideas) {
    meant += weight(idea);
    if (matched.has(idea)) had += weight(idea);
  }
  const share = typed ? covered / typed : 0;
  const fits = phrase.kind === kind ? 1 : kind && phrase.kind ? OTHER_KIND : AT_ONCE.has(phrase.kind) ? SOME_KIND : UNKNOWN_KIND;
  // A word in passing is no answer to a whole question.
  if (kind && had < LEAST * meant) return { share: 0, total: 0 };
  return { share, total: share * fits * (0.55 + 0.45 * (had / meant)) };
}

/** How many words two texts share, of all of theirs. @type {(one: string[], other: string[]) => number} */
function alike(one, other) {
  const both = one.filter((word) => other.includes(word)).length;
  return both / (one.length + other.length - both);
}

/** How well a text fits that has only words of every question. @type {(typed: string[], phrase: Phrased) => Fit} */
function scoreOfCommon(typed, { words, ideas }) {
  const share = ideas.size ? 0 : alike(typed, words);
  return { share, total: share };
}

/** A question with the words that were named put into it, as [key, text].
 * @type {(question: Question, ideas: Idea[], words: Words) => Answer} */
function withWords([key, text, template = text, named = ""], ideas, words) {
  for (const pattern of [named, template]) {
    const side = /** @type {"word" | "source" | undefined} */ (SLOT.exec(pattern)?.[1]);
    const place = side && !pattern.includes("{other}") && ideas.find(({ slots }) => slots[side])?.slots[side];
    const [shown] = words[side === "word" ? "written" : "read"]?.find(([, at]) => at === place) ?? [];
    if (!place || shown === undefined) continue;
    return [`${key}.${place}`, pattern.replace(`{${side}}`, shown)];
  }
  return [key, text];
}

const BETWEEN = /^(?:and not|but not|instead of|rather than|and why not|over|not|vs\.?|versus|or)$/i;

/** The two words of a question such as "Why X and not Y?", each as it was typed; null where it is none.
 * @type {(typed: string) => [string, string] | null} */
export function pairOf(typed) {
  const plain = typed.trim().replace(/[?!.…]+$/u, "").replace(/["“”„«»]|(?<!\p{L})['‘’]|['‘’](?!\p{L})/gu, "");
  const match =
    /^(?:.*\b(?:why|how come)\b(?: (?:did|does|do|is|was|it|the|model|this|say|says|said|write|writes|wrote|written|use|used|uses|choose|chose|pick|picked|there|we|have|a|word|not|didn[’']?t|doesn[’']?t))*) +(\S+)(?: there| here)?,? +(and not|but not|and why not|instead of|rather than|over|not|vs\.?|versus|or) +(?:a |the )?(\S+)$/iu.exec(plain);
  if (match && BETWEEN.test(match[2])) return [match[1].replace(/,$/, ""), match[3]];
  const turned = /^why .*\bnot (\S+),? but (\S+)$/iu.exec(plain);
  if (turned) return [turned[1], turned[2]];
  const other = /^why (?:(?:did|does) ?n[o']?t (?:it|the model) (?:say|write|use|choose)|not) +(\S+)$/iu.exec(plain);
  return other ? ["", other[1]] : null;
}

const CONTRAST = "why-not";

/** The question of a word against another, about the written word that was typed.
 * @type {(typed: string, questions: Question[], words: Words) => Answer | null} */
function contrast(typed, questions, words) {
  const pair = pairOf(typed);
  const asked = pair && questions.find(([key]) => key === CONTRAST);
  if (!pair || !asked) return null;
  const places = pair.map((word) => placeOf(wordsOf(word).join(" "), words.written));
  const [place, other] = places[0] ? [places[0], pair[1]] : places[1] ? [places[1], pair[0]] : nearest(pair, words);
  if (!place || !other) return null;
  const [shown = ""] = words.written?.find(([, at]) => at === place) ?? [];
  const text = (asked[3] ?? "").replace("{word}", shown).replace("{other}", other);
  return [`${CONTRAST}.${place}.${other}`, text];
}

/** "Why not neues?" is about "neuen": the word that begins most alike.
 * @type {(pair: [string, string], words: Words) => [number, string]} */
function nearest([word, other], words) {
  if (word) return [0, ""];
  let most = 2;
  let place = 0;
  for (const [text, at] of words.written ?? []) {
    let same = 0;
    while (same < other.length && text[same]?.toLowerCase() === other[same].toLowerCase()) same++;
    if (same > most) [most, place] = [same, at];
  }
  return [place, other];
}

/** Whether it asks for one word against another, of which the questions know none.
 * @type {(typed: string, index: Index) => boolean} */
function isStrange(typed, index) {
  const pair = pairOf(typed);
  return pair !== null && pair.some((word) => /\p{L}/u.test(word) && !wordsOf(word).some((each) => index.counts.has(nameOf(each))));
}

/**
 * The questions that fit what was typed, best first, each as [key, text]; all, as they stand, before anything is typed.
 *
 * @type {(typed: string, questions: Question[], words?: Words) => Answer[]}
 */
export function matching(typed, questions, words = {}) {
  if (!wordsOf(typed).length) return questions.map(([key, text]) => [key, text]);
  const index = indexOf(questions);
  const ideas = typedIdeas(typed, index, words);
  const pair = contrast(typed, questions, words);
  if (!pair && isStrange(typed, index)) return [];
  const plain = corrected(typed, index);
  const kind = kindOf(plain.join(" "));
  const scored = [];
  for (const entry of index.entries) {
    const best = entry.phrases
      .map((phrase) => {
        const found = ideas.length ? score(entry, phrase, ideas, kind, index.weight) : scoreOfCommon(plain, phrase);
        return { ...found, total: found.total * (1 + SAME * alike(plain, phrase.words)) };
      })
      .reduce((/** @type {Fit} */ one, /** @type {Fit} */ other) => (other.total > one.total ? other : one), { share: 0, total: 0 });
    if (best.share >= ENOUGH && (!kind || best.total >= WHOLE)) scored.push({ entry, ...best });
  }
  scored.sort((one, other) => other.total - one.total || one.entry.place - other.entry.place);
  const least = (scored[0]?.total ?? 0) * SHOWN;
  const found = scored.filter(({ total }) => total >= least).map(({ entry }) => withWords(entry.question, ideas, words));
  return pair ? [pair, ...found.filter(([key]) => !key.startsWith(CONTRAST))] : found;
}

/** What to say where nothing fits: why, and what can be asked. @type {(typed: string, words?: Words) => string} */
export function refusal(typed, words = {}) {
  const [word, other] = pairOf(typed) ?? [];
  const written = (words.written ?? []).map(([text]) => text).filter((text) => /\p{L}/u.test(text));
  if (other && written.length) {
    const missing = word ? `neither “${word}” nor “${other}”` : `nothing like “${other}”`;
    return `The translation has ${missing}. Ask about one of its words: ${written.slice(0, 12).join(", ")}.`;
  }
  return (
    "There is no answer to that here. Ask what something is (“what is a head?”), how to do something (“how do I save this?”), " +
    "what a head does (“which head looks back?”), why a word was written, or what would change (“what if the order were lost?”)."
  );
}
