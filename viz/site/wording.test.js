import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";

import { percent, precise, signed } from "../browser/canvas/numbers.js";
import { countOf, tr, worded } from "../browser/canvas/wording.js";
import { captionOf, headName, titleOf } from "../browser/model_view/head_words.js";
import { READINGS } from "../browser/model_view/how.js";
import { spokenMoment } from "../browser/model_view/timeline.js";
import { say, speak } from "./words.js";

const LANGUAGES = ["de", "es", "fr", "zh"];
const json = (folder, tag) => JSON.parse(readFileSync(new URL(`${folder}/${tag}.json`, import.meta.url)));
const wording = Object.fromEntries(LANGUAGES.map((tag) => [tag, json("wording", tag)]));
const merged = Object.fromEntries(LANGUAGES.map((tag) => [tag, { ...wording[tag].said, ...wording[tag].headers }]));
const words = Object.fromEntries(["en", ...LANGUAGES].map((tag) => [tag, json("words", tag)]));
const formsOf = (entry) => (typeof entry === "string" ? [entry] : Object.values(entry));
const placesIn = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();

// What the site mounts, with what it is made of; the app alone has the other components.
const FOLDERS = ["act", "branches", "canvas", "exchange", "model_view", "model_view/closeups", "model_view/panel", "model_view/walk", "matrices", "reader", "steps"];
// Never seen in the site: there is no Python to take a cell apart, and the file's own message is page.html's.
// Nor does the site put parts of one run into another.
const PUT_IN = ["The token's hidden states after", "No counterpart in the first sentence", "One token, after", "Take out: ", "In the first sentence:", "Drag ", "Put this head in"];
const APP_ONLY = ["This browser cannot draw the picture", ...PUT_IN];
const scripts = FOLDERS.flatMap((folder) => {
  const there = new URL(`../browser/${folder}/`, import.meta.url);
  const names = readdirSync(there).filter((name) => name.endsWith(".js") && !name.endsWith(".test.js"));
  return names.map((name) => [`${folder}/${name}`, readFileSync(new URL(name, there), "utf-8").replace(/^\s*(\/\/|\/?\*).*$/gm, "").replace(/^import .*$/gm, "")]);
});
const unquoted = (text) => JSON.parse(`"${text}"`);

test("every text that a component says is in every catalogue", () => {
  const said = scripts.flatMap(([, text]) => [
    ...[...text.matchAll(/\btr\(\s*"((?:[^"\\]|\\.)*)"/g)].map(([, each]) => unquoted(each)),
    ...[...text.matchAll(/\btr\([^"()]*\? "([^"]*)" : "([^"]*)"/g)].flatMap(([, one, other]) => [one, other]),
    ...[...text.matchAll(/\bcountOf\([^"()]*(?:\([^()]*\))?[^"()]*"(\w+)"/g)].map(([, noun]) => `{n} ${noun}s`),
    ...[...text.matchAll(/\bzoomButtons\("(\w+)"/g)].map(([, what]) => what),
  ]);
  said.push(...READINGS.flatMap(([, name, title]) => [name, title]));
  assert.ok(said.length > 140, String(said.length));
  for (const tag of LANGUAGES) assert.deepEqual(said.filter((text) => !Object.hasOwn(merged[tag], text)), [], tag);
  const built = /^(?:no|every) (?:source|target) token|^\{n\} (?:source|target) tokens$|^Step \{step\} of \{count\}: /;
  assert.deepEqual(Object.keys(wording.de.said).filter((text) => !said.includes(text) && !built.test(text)), []);
});

test("no component says English past the catalogues", () => {
  const known = Object.keys(merged.de);
  // A phrase, or a capital letter and small ones: what only a reader would be told.
  const spoken = /(["`])((?:[A-Z+][a-z]+(?: ?[^"`\n]*)|[a-z]+,? [a-z][^"`\n]* [a-z]+[^"`\n]*))\1/g;
  const KEYS = /^(?:Arrow\w*|AltGraph|Home|End|Enter|Escape|Infinity)$/;
  const left = scripts.flatMap(([name, text]) =>
    [...text.matchAll(spoken)]
      .map(([, , each]) => each)
      .filter((each) => !known.includes(each.replaceAll('\\"', '"')) && !KEYS.test(each) && !APP_ONLY.some((other) => each.startsWith(other)))
      .map((each) => `${name}: ${each}`),
  );
  assert.deepEqual(left, []);
});

test("catalogues have the same texts, with the same places for values and forms of the language", () => {
  for (const [tag, catalogue] of Object.entries(merged)) {
    assert.deepEqual(Object.keys(catalogue), Object.keys(merged.de), tag);
    const categories = new Intl.PluralRules(tag).resolvedOptions().pluralCategories;
    for (const [english, entry] of Object.entries(catalogue)) {
      for (const text of formsOf(entry)) {
        assert.ok(text.trim(), `${tag} ${english}`);
        assert.deepEqual(placesIn(text), placesIn(english), `${tag} ${english}`);
      }
      if (typeof entry !== "string") assert.ok(Object.keys(entry).every((form) => categories.includes(form)), `${tag} ${english}`);
    }
  }
});

test("without a catalogue, all is English", () => {
  assert.equal(globalThis.headscopeWording, undefined);
  assert.equal(countOf(1, "layer"), "1 layer");
  assert.equal(tr("{n} layers", { n: 1 }), "1 layers");
  assert.equal(worded({ name: "Encoder" }).name, "Encoder");
});

test("components speak the language of the page", () => {
  const kind = { name: "Kreuzaufmerksamkeit", layers: [0, 1], heads: 8 };
  speak("de", words, wording);
  assert.equal(titleOf(kind, { layer: 1, head: 2, compare: [] }), "Kreuzaufmerksamkeit, Schicht 1, Kopf 2");
  assert.equal(countOf(1, "head"), "1 Kopf");
  assert.equal(countOf(3, "source token"), "3 Quelltoken");
  assert.match(captionOf({ notes: [] }, kind, { lines: true }), /^Eine Linie verbindet .* unter 0,\d+ fehlen\./);
  speak("fr", words, wording);
  assert.equal(countOf(0, "layer"), "0 couche");
  assert.equal(spokenMoment({ phase: "layer", step: 2 }, { offset: 1 }, 9), "Écriture\u00a0: 3 sur 9");
  speak("en-x-pseudo", words, wording);
  assert.match(headName(kind, 1, 2), /^⟦Layer 1, head 2·+⟧$/);
});

test("a rule is taken apart at its weakest joint", () => {
  speak("de", words, wording);
  const label = "looks at its own token; from function words or punctuation, looks at the first token: right in 86 of 100 rows";
  assert.equal(worded({ label }).label, "schaut auf das eigene Token; für Funktionswörter oder Satzzeichen: schaut auf das erste Token: richtig in 86 von 100 Zeilen");
});

test("headers that were made in English are worded, and tokens and names of things stay", () => {
  speak("de", words, wording);
  const header = {
    axes: [["Encoder", "now"]],
    kinds: [
      {
        kind: "encoder",
        name: "Encoder self-attention",
        caption: "A row shows where the decoder looks in what it has read so far; it adds up to 1. Hatched: not allowed",
        facts: [
          [
            {
              label: "looks at the next token",
              sentence: "A row looks at about five tokens, mostly at the one after it.",
              numbers: "1.20 bits (38% of the maximum), 59% of the weight on the next token, mean distance 1.1 tokens",
              tendency: "mostly the sentence start, 51%",
              share: "91% of 500 sentences (88–93%)",
              reason: "On average, 63% of its weight goes there; in 91% of 500 sentences (88–93%), at least half does.",
            },
          ],
        ],
      },
    ],
    stacks: [{ blocks: [{ labels: [["", "looks at the same token"]] }], tokens: ["Encoder"] }],
    said: "Arcs: where the decoder looks while writing a word, the mean of its 8 cross-attention heads.",
  };
  const { axes, kinds, stacks, said: arcs } = worded(header);
  assert.deepEqual(axes, header.axes);
  assert.deepEqual(stacks, [{ blocks: [{ labels: [["", "schaut auf dasselbe Token"]] }], tokens: ["Encoder"] }]);
  assert.equal(arcs, "Bögen: wohin der Decoder schaut, während er ein Wort schreibt; Mittel seiner 8 Köpfe der Kreuzaufmerksamkeit.");
  assert.equal(kinds[0].kind, "encoder");
  assert.equal(kinds[0].caption, "Eine Zeile zeigt, wohin der Decoder im bisher Gelesenen schaut; ihre Summe ist 1. Schraffiert: nicht erlaubt");
  assert.deepEqual(kinds[0].facts[0][0], {
    label: "schaut auf das nächste Token",
    sentence: "Eine Zeile schaut auf etwa fünf Token, meist auf das folgende.",
    numbers: "1,20 Bit (38\u202f% des Maximums), 59\u202f% des Gewichts gehen auf das nächste Token, mittlere Entfernung 1,1 Token",
    tendency: "meist auf den Satzanfang, 51\u202f%",
    share: "91\u202f% der 500 Sätze (88–93\u202f%)",
    reason: "Im Mittel gehen 63\u202f% seines Gewichts dorthin; in 91\u202f% der 500 Sätze (88–93\u202f%) mindestens die Hälfte.",
  });
  const sentence = "Most of its weight is on hidden special tokens; otherwise a row looks at about two words, mostly at itself.";
  const said = "Das meiste Gewicht liegt auf ausgeblendeten Sondertoken; sonst gilt: eine Zeile schaut auf etwa zwei Wörter, meist auf sich selbst.";
  assert.equal(worded({ sentence }).sentence, said);
});

test("what the engine refuses is said in every language", () => {
  const here = new URL("../browser/engine/", import.meta.url);
  const files = readdirSync(here).filter((name) => name.endsWith(".js") && !name.endsWith(".test.js"));
  const text = files.map((name) => readFileSync(new URL(name, here), "utf-8")).join("\n");
  // Edits of heads and masks are checked before the engine has them.
  const refusals = [...text.matchAll(/throw new (?:Text|Decoding|Position)Error\(([^]*?)\);/g)].map(([, said]) => {
    const parts = [...said.matchAll(/"((?:[^"\\]|\\.)*)"|`([^`]*)`/g)].filter(([part]) => part !== '"en"');
    return parts.map(([, one, other]) => one ?? other.replace(/\$\{[^}]*\}/g, "{}")).join("");
  });
  assert.ok(refusals.length > 12, String(refusals.length));
  const known = Object.keys(wording.de.headers).map((english) => english.replace(/\{\w+\}/g, "{}"));
  assert.deepEqual(refusals.filter((refusal) => !known.includes(refusal)), []);
  speak("fr", words, wording);
  const long = "The target is too long: its first 1,234 characters fill the 64 tokens that the model takes; shorten it to that.";
  assert.match(worded({ said: long }).said, /^Le texte cible est trop long\u00a0: ses 1\u202f234 premiers caractères/);
});

test("numbers are those of the reader's language", () => {
  const written = (tag) => {
    speak(tag, words, wording);
    const said = worded({ said: "11.5 million parameters", numbers: "1.20 bits (38% of the maximum)" });
    return [percent(0.954), percent(0.031, 1), signed(-0.794, 2), signed(-0.001, 2), signed(1234), precise(0.12345, 4), said.said, said.numbers, say("times_less", { factor: 3.1 })];
  };
  assert.deepEqual(written("de"), [
    ...["95\u202f%", "3,1\u202f%", "−0,79", "0,00", "1.234", "0,1235", "11,5 Millionen Parameter", "1,20 Bit (38\u202f% des Maximums)"],
    "ohne ihn nur 1/3,1 so wahrscheinlich",
  ]);
  assert.deepEqual(written("zh"), [
    ...["95%", "3.1%", "−0.79", "0.00", "1,234", "0.1235", "1150\u202f万参数", "1.20 比特（最大值的 38%）", "去掉后概率降为原来的 1/3.1"],
  ]);
  assert.deepEqual(written("fr").slice(0, 8), ["95\u202f%", "3,1\u202f%", "−0,79", "0,00", "1\u202f234", "0,1235", "11,5 millions de paramètres", "1,20 bits (38\u202f% du maximum)"]);
  assert.deepEqual(written("es").slice(0, 7), ["95\u202f%", "3,1\u202f%", "−0,79", "0,00", "1234", "0,1235", "11,5 millones de parámetros"]);
});

test("only one function writes numbers for a reader", () => {
  const here = new URL(".", import.meta.url);
  const own = readdirSync(here).filter((name) => name.endsWith(".js") && !name.endsWith(".test.js"));
  const all = [...scripts, ...own.map((name) => [name, readFileSync(new URL(name, here), "utf-8")])];
  // Lengths and opacities are for style sheets, whose numbers are English.
  const forStyle = /\.style\b|\bstyle\.|opacity|wide =|toExponential/;
  const past = all
    .filter(([name]) => name !== "canvas/numbers.js")
    .flatMap(([name, text]) => text.split("\n").map((line) => `${name}: ${line.trim()}`))
    .filter((line) => /toFixed|toPrecision|toLocaleString|Intl\.NumberFormat|\}%`/.test(line) && !forStyle.test(line));
  assert.deepEqual(past, []);
  for (const tag of ["en", ...LANGUAGES]) {
    const texts = [words[tag], merged[tag] ?? {}].flatMap((catalogue) => Object.values(catalogue).flatMap(formsOf));
    assert.deepEqual(texts.filter((text) => /[\d}]\s?%|\d[.,]\d/.test(text)), [], tag);
  }
});

test("each term has the name that the glossary gives it in the language", () => {
  const glossary = json(".", "glossary");
  const english = Object.entries(words.en).map(([key, entry]) => [key, formsOf(entry).at(-1)]);
  const used = new Set();
  for (const tag of LANGUAGES) {
    const pairs = [...english.map(([key, text]) => [text, words[tag][key]]), ...Object.entries(merged[tag])];
    for (const [term, names] of Object.entries(glossary)) {
      const asked = new RegExp(`(?<![\\w-]|Arrow )${term}s?(?![\\w-])`, "i");
      for (const [text, entry] of pairs.filter(([text]) => asked.test(text.replace(/\{\w+\}/g, "#")))) {
        used.add(term);
        const named = formsOf(entry).every((form) => names[tag].some((name) => form.toLowerCase().includes(name.toLowerCase())));
        assert.ok(named, `${tag}, ${term}: ${text} → ${JSON.stringify(entry)}`);
      }
    }
  }
  assert.deepEqual(Object.keys(glossary).filter((term) => !used.has(term)), []);
});

test("every language is set as its own printers set it", () => {
  const wrong = {
    de: /["”«»]|\.\.\./,
    es: /["“”]|\.\.\./,
    // A space before these marks keeps them on the line.
    fr: /[^\u202f][;!?]|[^\u00a0]:|«[^\u00a0]|[^\u00a0]»|["“”]|\.\.\./,
    // Chinese has its own marks between characters.
    zh: /\p{Script=Han}\s?[,;:!?()]|[,;:!?()]\s?\p{Script=Han}|\}[,;:]|\p{Script=Han}\.|"/u,
  };
  for (const [tag, marks] of Object.entries(wrong)) {
    const texts = [words[tag], merged[tag]].flatMap((catalogue) => Object.values(catalogue).flatMap(formsOf));
    assert.deepEqual(texts.filter((text) => marks.test(text)), [], tag);
  }
});
