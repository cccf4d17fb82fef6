// The notes window: the current and next scene, with its keys and buttons.

import { asked } from "./keys.js";

const piece = (/** @type {string} */ id) => /** @type {HTMLButtonElement} */ (document.getElementById(id));
const show = (/** @type {string} */ id, /** @type {string} */ text) => { piece(id).textContent = text };
const channel = new BroadcastChannel(window.name);
let begun = Date.now();
const tick = () => {
  const seconds = Math.floor((Date.now() - begun) / 1000);
  const minutes = Math.floor(seconds / 60) % 60;
  const hours = Math.floor(seconds / 3600);
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  show("time", hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`);
};
setInterval(tick, 500);
// The preview of the next scene is a small copy of the app; it stays open and is sent each view.
const picture = piece("next-picture");
/** @type {(next: { page: string; view: View } | null, root: string) => void} */
const look = (next, root) => {
  picture.hidden = !next;
  if (!next) return;
  const { page, view } = next;
  const wish = JSON.stringify({ page, view });
  if (wish === picture.dataset.wish) return;
  picture.dataset.wish = wish;
  let frame = picture.querySelector("iframe");
  if (!frame) {
    frame = document.createElement("iframe");
    frame.id = "headscope-ahead";
    frame.src = `${new URL(page, root)}?${new URLSearchParams({ ...view, present: "1" })}`;
    picture.append(frame);
    return;
  }
  const { contentWindow } = frame;
  if (!contentWindow) return;
  contentWindow.headscopeLook = { page, view };
  contentWindow.dispatchEvent(new Event("headscope-look"));
};
channel.onmessage = ({ data }) => {
  if (data.ask || data.go || data.step) return;
  if (data.left) {
    show("place", "The talk’s window was closed or is loading…");
    return;
  }
  const { number, count, title, note, next, root, away, walk } = data;
  const following = walk ? walk.next : next;
  const inScene = number ? `Scene ${number} of ${count}` : `No scene yet; the talk has ${count}`;
  show("place", walk ? `Stop ${walk.at} of ${walk.count} of the walk` : inScene);
  show("away", away ? "The stage has left this scene’s view." : "");
  show("title", walk ? walk.title : title);
  const ofScene = away && walk ? "" : note;
  show("note", [walk?.note, ofScene].filter(Boolean).join("\n\n") || (number ? "No note for this scene." : ""));
  show("next", following ? `Next: ${following.title}` : walk ? "End of the walk" : "End of talk");
  show("next-note", following?.note ?? "");
  look(walk ? null : next, root);
  piece("back").disabled = (walk ? walk.at : number) <= 1;
  piece("forth").disabled = !walk && number >= count;
};
piece("again").onclick = () => { begun = Date.now(); tick() };
piece("back").onclick = () => channel.postMessage({ step: -1 });
piece("forth").onclick = () => channel.postMessage({ step: 1 });
document.addEventListener("keydown", (event) => {
  if (event.key === " " && event.target instanceof Element && event.target.closest("button")) return;
  const wish = asked(event);
  if (!wish) return;
  event.preventDefault();
  channel.postMessage(wish.number ? { go: true, ...wish } : wish);
});
channel.postMessage({ ask: true });
