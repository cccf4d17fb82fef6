import assert from "node:assert/strict";
import { test } from "node:test";

import { plainKey, typing } from "./keys.js";

function pressed(key, { altGraph = false, ...modifiers } = {}) {
  return { key, getModifierState: () => altGraph, ...modifiers };
}

test("letters are lower case, and Shift with an arrow means a bracket", () => {
  assert.equal(plainKey(pressed("F")), "f");
  assert.equal(plainKey(pressed("Escape")), "Escape");
  assert.equal(plainKey(pressed("ArrowLeft")), "ArrowLeft");
  assert.equal(plainKey(pressed("ArrowLeft", { shiftKey: true })), "[");
  assert.equal(plainKey(pressed("ArrowRight", { shiftKey: true })), "]");
});

test("keys with Ctrl, Alt or Meta are left to the browser, unless AltGr types them", () => {
  for (const modifier of ["ctrlKey", "altKey", "metaKey"]) assert.equal(plainKey(pressed("p", { [modifier]: true })), null);
  assert.equal(plainKey(pressed("[", { ctrlKey: true, altKey: true, altGraph: true })), "[");
});

test("a key in a field, on a word or in a dialog is no shortcut", () => {
  const node = (tagName, role) => ({ tagName, getAttribute: () => role ?? null });
  const event = (...path) => ({ composedPath: () => path });
  for (const name of ["INPUT", "TEXTAREA", "SELECT", "LI"]) assert.ok(typing(event(node(name), node("DIV"))));
  assert.ok(typing(event({ ...node("DIV"), isContentEditable: true })));
  assert.ok(typing(event(node("BUTTON"), node("DIV", "dialog"), {})));
  assert.ok(!typing(event(node("CANVAS"), node("DIV"), {})));
});
