// What a test says to a page in Firefox; every document has it from its start.

/* global at, click, until -- defined here */

const SECONDS = 30;

globalThis.at = (name) => document.querySelector(name);

/** In the page's component, which has a shadow root of its own. */
globalThis.inside = (name) => at(".part")?.shadowRoot.querySelectorAll(name) ?? [];

/** What `find` gives, once it is there; the error names what never came. */
globalThis.until = async (find) => {
  for (const end = performance.now() + SECONDS * 1000; performance.now() < end; ) {
    try {
      const found = find();
      if (found && found.length !== 0) return found;
    } catch (error) {
      // An element that has not come has no text.
      if (!(error instanceof TypeError)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`${find} did not come: ${document.body.innerText}`);
};

/** Clicks, once it is there, on the element with a text, or on the first. */
globalThis.click = async (elements, text = null) => {
  const fits = ({ textContent }) => text === null || textContent === text;
  (await until(() => [...elements()].find(fits))).click();
};

globalThis.choose = async (name, value) => {
  const menu = await until(() => at(name));
  menu.value = value;
  menu.dispatchEvent(new Event("change"));
};

globalThis.go = (page) => click(() => document.querySelectorAll("#links a"), page);

/** Waits for words in the line that says what comes of a change. */
globalThis.note = (text) => until(() => at(".outcome").textContent.includes(text));

globalThis.shown = (sentence) => until(() => document.documentElement.dataset.engine && document.body.dataset.shown === sentence);
