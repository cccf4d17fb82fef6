import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";

import { LANGUAGES, languageOf, say, speak } from "./words.js";

const catalogues = Object.fromEntries(
  Object.keys(LANGUAGES).map((tag) => [tag, JSON.parse(readFileSync(new URL(`words/${tag}.json`, import.meta.url)))]),
);
const formsOf = (entry) => (typeof entry === "string" ? [entry] : Object.values(entry));
const placesIn = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();

test("every catalogue has every key of the English one, with the same places for values", () => {
  for (const [tag, catalogue] of Object.entries(catalogues)) {
    assert.deepEqual(Object.keys(catalogue), Object.keys(catalogues.en), tag);
    for (const [key, entry] of Object.entries(catalogue)) {
      const english = new Set(formsOf(catalogues.en[key]).flatMap(placesIn));
      for (const text of formsOf(entry)) {
        assert.ok(text.trim(), `${tag} ${key}`);
        assert.ok(placesIn(text).every((name) => english.has(name)), `${tag} ${key}`);
      }
      assert.deepEqual(new Set(formsOf(entry).flatMap(placesIn)), english, `${tag} ${key}`);
    }
  }
});

test("every key that a script says is in the catalogue, and no other", () => {
  const here = new URL(".", import.meta.url);
  const files = readdirSync(here).filter((name) => name.endsWith(".js") && !name.endsWith(".test.js"));
  const scripts = files.map((name) => readFileSync(new URL(name, here), "utf-8")).join("\n");
  const keys = Object.keys(catalogues.en);
  const said = [...scripts.matchAll(/say\((?:[^"()]*\? )?"(\w+)"(?: : "(\w+)")?/g)].flatMap(([, ...names]) => names.filter(Boolean));
  assert.deepEqual(said.filter((key) => !keys.includes(key)), []);
  const built = /^(page|mask|cell|about|times|given|usual|in|rule)_|^(encoder|decoder|cross|both|removed|beam|penalty|temperature|top_k|top_p|samples|too_old|(?:has|reads)_\w+)$/;
  assert.deepEqual(keys.filter((key) => !said.includes(key) && !built.test(key)), []);
});

test("plural forms are those of the language", () => {
  speak("de", catalogues);
  assert.equal(say("without_heads", { n: 1 }), catalogues.de.without_heads.one);
  assert.match(say("without_heads", { n: 2 }), /diese 2 Köpfe/);
  speak("zh", catalogues);
  assert.match(say("without_heads", { n: 1 }), /1/);
});

test("values stay as they are, and places without a value too", () => {
  speak("en", catalogues);
  assert.equal(say("whole", { text: "{n} $& <b>" }), "Unchanged, it writes: {n} $& <b>");
  assert.equal(say("layer_head"), "Layer {query}, head {key}");
  assert.throws(() => say("no_such_key"), /lacks no_such_key/);
});

test("the language is the one asked for, or the reader's first, or English", () => {
  assert.equal(languageOf("fr", ["de-CH"]), "fr");
  assert.equal(languageOf("xx", ["pt-BR", "de-CH", "fr"]), "de");
  assert.equal(languageOf(undefined, ["zh-Hans-CN"]), "zh");
  assert.equal(languageOf(undefined, []), "en");
  assert.equal(languageOf("constructor", ["es"]), "es");
});

test("pseudo-localised words keep their places for values", () => {
  speak("en-x-pseudo", catalogues);
  assert.match(say("head_name", { kind: "K", layer: 1, head: 2 }), /^⟦K, layer 1, head 2·+⟧$/);
});
