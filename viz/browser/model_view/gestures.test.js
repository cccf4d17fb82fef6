import assert from "node:assert/strict";
import { test } from "node:test";

import { Gestures, keyMeans, pinched, swiped, wheelFactor } from "./gestures.js";

/** An element that hears events, with what it was told to do. */
function heard({ isOut = false } = {}) {
  const target = Object.assign(new EventTarget(), {
    ...{ style: {}, clientWidth: 1200, clientHeight: 700, tagName: "DIV", captured: [] },
    getBoundingClientRect: () => ({ left: 100, top: 50 }),
    setPointerCapture: (id) => target.captured.push(id),
  });
  const calls = [];
  const state = { isOut, isRead: false, isLed: false };
  const names = ["zoom", "pan", "enter", "swipe"];
  const on = { isOut: () => state.isOut, isRead: () => state.isRead, isLed: () => state.isLed, grasp: () => {}, ...Object.fromEntries(names.map((name) => [name, (...values) => calls.push([name, ...values])])) };
  const gestures = new Gestures(target, on);
  const send = (type, values = {}) => {
    const event = new Event(type, { cancelable: true });
    const usual = { clientX: 400, clientY: 250, pointerId: 1, pointerType: "mouse", isPrimary: true, button: 0, deltaX: 0, deltaY: 0, deltaMode: 0, ctrlKey: false };
    const made = { ...usual, composedPath: () => [target], ...values };
    for (const [name, value] of Object.entries(made)) Object.defineProperty(event, name, { value });
    target.dispatchEvent(event);
    return event.defaultPrevented;
  };
  return { target, gestures, calls, send, state };
}

test("what is part of a page that one reads leaves wheel and finger to that page", () => {
  const { target, gestures, send, calls, state } = heard();
  state.isRead = true;
  gestures.update();
  assert.equal(target.style.touchAction, "pan-y");
  assert.equal(send("wheel", { deltaY: -100 }), false);
  assert.deepEqual(calls, []);
  assert.equal(send("wheel", { deltaY: -100, ctrlKey: true }), true);
  assert.equal(calls.length, 1);
});

test("a wheel turns alike in pixels, lines and pages, back as far as forth, and never by a leap", () => {
  const factor = (deltaY, deltaMode = 0, ctrlKey = false) => wheelFactor({ deltaY, deltaMode, ctrlKey }, 700);
  assert.equal(factor(-48), factor(-3, 1));
  assert.equal(factor(100, 2), factor(1e9));
  assert.ok(Math.abs(factor(30) * factor(-30) - 1) < 1e-12);
  assert.ok(factor(-120) > 1.25 && factor(-120) < 1.5);
  assert.ok(factor(-2) > 1 && factor(-2) < 1.01);
  assert.ok(factor(-5, 0, true) > 1.03);
  assert.equal(factor(0), 1);
});

test("two fingers zoom by how far they are apart, and move the picture with their middle", () => {
  const at = (x, y) => ({ x, y });
  assert.deepEqual(pinched([at(0, 0), at(100, 0)], [at(-50, 10), at(150, 10)]), { point: at(50, 10), factor: 2, dx: 0, dy: 10 });
  assert.equal(pinched([at(5, 5), at(5, 5)], [at(0, 0), at(10, 0)]).factor, 10);
});

test("a swipe is fast, long and straight", () => {
  assert.equal(swiped(-120, 10, 200), 1);
  assert.equal(swiped(120, -10, 200), -1);
  assert.equal(swiped(-120, 100, 200), 0);
  assert.equal(swiped(-120, 10, 900), 0);
  assert.equal(swiped(-30, 0, 100), 0);
});

test("keys mean one thing each", () => {
  assert.deepEqual(["+", "=", "-"].map(keyMeans), [{ zoom: 1 }, { zoom: 1 }, { zoom: -1 }]);
  assert.deepEqual(["Home", "Enter", "ArrowUp"].map(keyMeans), [{ whole: true }, { enter: true }, { step: "ArrowUp" }]);
  assert.deepEqual(["a", "k", " ", "Tab", "Arrow", "Escape"].map(keyMeans), [null, null, null, null, null, null]);
});

test("at the whole model, only what leads closer is taken from the page", () => {
  const { target, send, calls } = heard({ isOut: true });
  assert.equal(target.style.touchAction, "pan-x pan-y");
  assert.equal(send("wheel", { deltaY: 100, timeStamp: 1000 }), false);
  // One scroll of the page, even where it turns.
  assert.equal(send("wheel", { deltaY: -100, timeStamp: 1100 }), false);
  assert.deepEqual(calls, []);
  assert.equal(send("wheel", { deltaY: -100, timeStamp: 2000 }), true);
  assert.deepEqual(calls.map(([name, point]) => [name, point]), [["zoom", { x: 300, y: 200 }]]);
});

test("a turn of the wheel that comes out does not scroll the page by its momentum", () => {
  const { send, state, calls } = heard();
  assert.equal(send("wheel", { deltaY: 100, timeStamp: 1000 }), true);
  state.isOut = true;
  assert.equal(send("wheel", { deltaY: 80, timeStamp: 1016 }), true);
  assert.equal(send("wheel", { deltaY: 60, timeStamp: 1200 }), true);
  assert.equal(calls.length, 1);
  assert.equal(send("wheel", { deltaY: 60, timeStamp: 1600 }), false);
});

test("a mouse that drags moves the picture, and the click that ends it is nobody's", () => {
  const { send, calls, target, state } = heard();
  const clicks = [];
  target.addEventListener("click", () => clicks.push(1));
  send("pointerdown");
  send("pointermove", { clientX: 402 });
  assert.deepEqual(calls, []);
  send("pointermove", { clientX: 430, clientY: 240 });
  send("pointermove", { clientX: 440, clientY: 240 });
  send("pointerup", { clientX: 440, clientY: 240 });
  send("click");
  assert.deepEqual(calls, [["pan", 30, -10], ["pan", 10, 0]]);
  assert.deepEqual([clicks, target.captured], [[], [1]]);
  for (const type of ["pointerdown", "pointerup", "click"]) send(type);
  assert.equal(clicks.length, 1);
  send("pointerdown", { composedPath: () => [{ tagName: "INPUT" }] });
  send("pointermove", { clientX: 500 });
  state.isOut = true;
  send("pointerdown");
  send("pointermove", { clientX: 500 });
  assert.equal(calls.length, 2);
});

test("a finger pans and swipes, two pinch, and two taps enter", () => {
  const { send, calls } = heard();
  const touch = (type, id, clientX, timeStamp) => send(type, { pointerType: "touch", pointerId: id, isPrimary: id === 1, clientX, timeStamp });
  touch("pointerdown", 1, 400, 0);
  touch("pointermove", 1, 300, 100);
  touch("pointerup", 1, 300, 120);
  assert.deepEqual(calls.splice(0), [["pan", -100, 0], ["swipe", 1]]);
  touch("pointerdown", 1, 400, 1000);
  touch("pointerdown", 2, 500, 1010);
  touch("pointermove", 2, 600, 1020);
  touch("pointerup", 2, 600, 1030);
  touch("pointermove", 1, 200, 1040);
  touch("pointerup", 1, 200, 1050);
  assert.deepEqual(calls.splice(0), [["zoom", { x: 400, y: 200 }, 2], ["pan", 50, 0], ["pan", -200, 0]]);
  for (const time of [2000, 2200]) {
    touch("pointerdown", 1, 400, time);
    touch("pointerup", 1, 402, time + 50);
  }
  send("dblclick");
  assert.deepEqual(calls.splice(0), [["enter", { x: 302, y: 200 }]]);
  send("pointerdown");
  send("dblclick");
  assert.deepEqual(calls, [["enter", { x: 300, y: 200 }]]);
});

test("where one finger leads through a talk, it neither pans nor swipes, and two still pinch", () => {
  const { target, gestures, send, calls, state } = heard();
  state.isLed = true;
  gestures.update();
  assert.equal(target.style.touchAction, "pan-y");
  const touch = (type, id, clientX, timeStamp) => send(type, { pointerType: "touch", pointerId: id, isPrimary: id === 1, clientX, timeStamp });
  touch("pointerdown", 1, 400, 0);
  touch("pointermove", 1, 300, 100);
  touch("pointerup", 1, 300, 120);
  assert.deepEqual(calls, []);
  touch("pointerdown", 1, 400, 1000);
  touch("pointerdown", 2, 500, 1010);
  touch("pointermove", 2, 600, 1020);
  assert.equal(calls[0][0], "zoom");
});

test("nothing is heard any more once it is disposed of", () => {
  const { gestures, send, calls } = heard();
  gestures.dispose();
  send("wheel", { deltaY: -10 });
  send("dblclick");
  assert.deepEqual(calls, []);
});
