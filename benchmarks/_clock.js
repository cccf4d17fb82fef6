// Runs in the page and times how long it takes from a person's event until the result is painted.

(() => {
  const LIMIT = 120_000;
  const QUIET = 400;
  let root = null;
  let held = null;
  let result = null;

  // While messages are held back, the server cannot have caused what is painted.
  window.WebSocket = class extends WebSocket {
    send(data) {
      if (held) held.push(() => super.send(data));
      else super.send(data);
    }
  };

  function frame() {
    return new Promise(requestAnimationFrame);
  }

  /** Waits until the condition is truthy, then one more frame so that the result is on the screen. */
  async function seen(condition) {
    const limit = performance.now() + LIMIT;
    for (;;) {
      const found = condition();
      await frame();
      if (found) return { found, at: performance.now() };
      if (performance.now() > limit) throw new Error(`Not painted within ${LIMIT / 1000} s.`);
    }
  }

  function headsView() {
    if (root?.isConnected) return root;
    root = null;
    for (const host of document.querySelectorAll('[data-testid="stMain"] *')) {
      root = host.shadowRoot?.querySelector(".heads-view") ?? null;
      if (root) break;
    }
    return root;
  }

  function painted() {
    const text = headsView()?.dataset.painted;
    return text ? JSON.parse(text) : null;
  }

  function isDone({ id, attention, layer, head }) {
    const done = `${id}/${attention}/${layer}/${head}`;
    return [...document.querySelectorAll(".headscope-done")].some((mark) => mark.dataset.done === done);
  }

  function tooltip() {
    return headsView()?.getRootNode().querySelector(":is(div.tooltip, .tip):not([hidden])") ?? null;
  }

  /** Watches visible changes in the main part of the page; the returned function waits for the last one and returns its time. */
  function watchChanges() {
    let last = 0;
    const observer = new MutationObserver((changes) => {
      // Children of a canvas are for screen readers; tables update them some time after drawing.
      if (changes.some(({ target }) => !(target.parentElement ?? target).closest("canvas"))) last = performance.now();
    });
    observer.observe(document.querySelector('[data-testid="stMain"]'), {
      attributes: true,
      characterData: true,
      childList: true,
      subtree: true,
    });
    return async (since) => {
      await seen(() => performance.now() - Math.max(last, since) > QUIET);
      observer.disconnect();
      return Math.max(last, since);
    };
  }

  /** Times until the wanted payload is painted and, with `withRest`, until the rest of the page has stopped changing. */
  async function timePaint(start, isWanted, withRest) {
    const lastChange = withRest ? watchChanges() : null;
    const isPainted = () => {
      const now = painted();
      return now && isWanted(now) ? now : null;
    };
    const shown = await seen(isPainted);
    const times = { painted: shown.at - start };
    if (withRest) {
      const done = await seen(() => isPainted() && isDone(isPainted()));
      times.rest = (await lastChange(done.at)) - start;
    }
    return times;
  }

  /** Measures from the next event of this type (and key); `result` returns the outcome. */
  function onNext(type, key, measure) {
    result = new Promise((resolve, reject) => {
      const started = (event) => {
        if (key && event.key !== key) return;
        removeEventListener(type, started, true);
        measure(performance.now()).then(resolve, reject);
      };
      addEventListener(type, started, true);
    });
    // `result` reports errors; without this the browser would call them unhandled.
    result.catch(() => {});
  }

  window.headscopeClock = {
    seen,
    painted,

    /** Waits until a newly opened page is complete. */
    ready: () => seen(() => painted() && isDone(painted())),

    /** Waits until a payload is painted, on a page that shows only the overview. */
    readyOverview: () => seen(painted),

    /** Times from the event to another payload and, with `withRest`, to the rest of the page. */
    armPayload(type, key, withRest) {
      const before = painted()?.id;
      onNext(type, key, (start) => timePaint(start, (now) => now.id !== before, withRest));
    },

    /** Times from the event to another head. */
    armHead(type, key, withRest) {
      const before = painted();
      const isOther = (now) => ["attention", "layer", "head"].some((name) => now[name] !== before[name]);
      onNext(type, key, (start) => timePaint(start, isOther, withRest));
    },

    /** Times from the event to a changed translation. */
    armAnswer(type) {
      onNext(type, null, async (start) => {
        const shown = await seen(() => document.querySelector('[data-testid="stMain"] .change')?.textContent.trim());
        return { painted: shown.at - start };
      });
    },

    /** Times from now to the first element of a selector, and until the page has stopped changing. */
    startFirst(selector) {
      const measure = async (start) => {
        const lastChange = watchChanges();
        const shown = await seen(() => document.querySelector(selector));
        return { painted: shown.at - start, rest: (await lastChange(shown.at)) - start };
      };
      result = measure(performance.now());
      result.catch(() => {});
    },

    /** Times from the event to a tooltip. */
    armTooltip(type) {
      onNext(type, null, async (start) => {
        const shown = await seen(() => tooltip()?.textContent.trim());
        return { painted: shown.at - start };
      });
    },

    hasTooltip: () => tooltip() !== null,
    result: () => result,

    /** The tiles under which nothing else lies, each with its head and its centre in window coordinates. */
    tiles() {
      const overview = headsView().querySelector("[data-tiles]");
      const canvas = headsView().querySelector("canvas.overview");
      const { left, top } = canvas.getBoundingClientRect();
      return JSON.parse(overview.dataset.tiles)
        .map((tile) => ({ ...tile, x: left + tile.x + tile.width / 2, y: top + tile.y + tile.height / 2 }))
        .filter(({ x, y }) => headsView().contains(headsView().getRootNode().elementFromPoint(x, y)));
    },

    /** The box of the large matrix in window coordinates. */
    matrix() {
      const canvas = headsView().querySelector("canvas.space");
      const { left, top } = canvas.getBoundingClientRect();
      const [x, y, width, height] = JSON.parse(canvas.dataset.cells);
      return { left: left + x, top: top + y, width, height };
    },

    hold: () => void (held = []),

    release() {
      const messages = held;
      held = null;
      for (const send of messages) send();
      return messages.length;
    },
  };
})();
