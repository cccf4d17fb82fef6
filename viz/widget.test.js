import assert from "node:assert/strict";
import { test } from "node:test";

import { fixtures } from "../tests/kit/fixtures.js";
import { TracePayload } from "./browser/canvas/trace_payload.js";
import { chosenOf } from "./browser/model_view/panel/chosen.js";
import { bytesOf, fromPython, isSame, link, toPython } from "./widget.js";

const bytes = new Uint8Array(Buffer.from(fixtures.exact, "base64"));
const payload = new TracePayload(bytes);
// As in a trace without its first layers.
payload.kind("cross").layers = [4, 7];
const SPELLED = { attention: "cross", layer: "1", head: "2", cell: "1.0" };
const PYTHON = { kind: "cross", layer: 7, head: 2, cell: [1, 0] };

/** The parts of anywidget's model that the widget uses, with the saved values. */
function modelOf(selection) {
  const values = { selection, _payload: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
  const saved = [];
  return {
    saved,
    get: (name) => values[name],
    set: (name, value) => (values[name] = value),
    save_changes: () => saved.push(values.selection),
  };
}

/** A view with a selection that records the changes it is given. */
function viewWith(changes) {
  const selected = [];
  const state = { ...chosenOf({ ...SPELLED, compare: "", order: "", faint: "0", only: "" }), ...changes };
  return { payload, state, selected, select: (asked) => selected.push(asked) };
}

test("a selection goes to Python and back, layers by their own numbers", () => {
  assert.deepEqual(toPython(SPELLED, payload), PYTHON);
  assert.deepEqual(fromPython(PYTHON, payload), { attention: "cross", layer: 1, head: 2, cell: [1, 0] });
  assert.equal(toPython({ ...SPELLED, cell: "" }, payload).cell, null);
});

test("selections are compared by value", () => {
  const { kind, ...rest } = PYTHON;
  assert.ok(isSame({ ...rest, kind }, PYTHON));
  for (const change of [{ kind: "encoder" }, { layer: 4 }, { head: 0 }, { cell: null }]) {
    assert.ok(!isSame({ ...PYTHON, ...change }, PYTHON));
  }
});

test("the data are the trait's bytes, at any offset", () => {
  const whole = new Uint8Array([9, 1, 2, 3]);
  assert.deepEqual([...bytesOf(new DataView(whole.buffer, 1, 2))], [1, 2]);
  assert.deepEqual([...bytesOf(whole.subarray(1))], [1, 2, 3]);
  assert.deepEqual(link(modelOf(PYTHON), viewWith()).data, bytes);
});

test("the model gets each new selection once", () => {
  const model = modelOf({ ...PYTHON, head: 0 });
  const { report } = link(model, viewWith());
  report({ ...SPELLED, width: "wide", epoch: 0 });
  report({ ...SPELLED, width: "narrow", epoch: 0 });
  assert.deepEqual(model.saved, [PYTHON]);
});

test("the view gets the model's selection, but not its own back", () => {
  const view = viewWith({ head: 0 });
  link(modelOf(PYTHON), view).take();
  assert.deepEqual(view.selected, [{ attention: "cross", layer: 1, head: 2, cell: [1, 0] }]);
  const same = viewWith();
  link(modelOf(PYTHON), same).take();
  assert.deepEqual(same.selected, []);
});
