// The clock inside the page: from the event that a person causes to what is painted after it.

(() => {
  const LIMIT = 120_000;
  const QUIET = 400;
  let root = null;
  let held = null;
  let result = null;

  // While messages are held back, nothing that is painted can have come from the server.
  window.WebSocket = class extends WebSocket {
    send(data) {
      if (held) held.push(() => super.send(data));
      else super.send(data);
    }
  };

  function frame() {
    return new Promise(requestAnimationFrame);
  }

  /** Waits, frame by frame, until the condition gives something, and one frame more: then it is on the screen. */
  async function seen(condition) {
    const limit = performance.now() + LIMIT;
    for (;;) {
      const found = condition();
      await frame();
      if (found) return { found, at: performance.now() };
      if (performance.now() > limit) throw new Error(`Not painted within ${LIMIT / 1000} s.`);
    }
  }

  function explorer() {
    if (root?.isConnected) return root;
    root = null;
    for (const host of document.querySelectorAll('[data-testid="stMain"] *')) {
      root = host.shadowRoot?.querySelector(".explorer") ?? null;
      if (root) break;
    }
    return root;
  }

  function painted() {
    const text = explorer()?.dataset.painted;
    return text ? JSON.parse(text) : null;
  }

  function isDone({ id, attention, layer, head }) {
    const done = `${id}/${attention}/${layer}/${head}`;
    return [...document.querySelectorAll(".headscope-done")].some((mark) => mark.dataset.done === done);
  }

  function tooltip() {
    return explorer()?.getRootNode().querySelector("div.tooltip:not([hidden])") ?? null;
  }

  /** Of changes in the page's body that can be seen: waits until there are no more, and gives the time of the last. */
  function watchChanges() {
    let last = 0;
    const observer = new MutationObserver((changes) => {
      // What a canvas holds is for screen readers; tables bring it up to date a while after they have drawn.
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

  /** The rest of the page is there once its last element is and nothing changes any more. */
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

  /** At the next event of that type (and key): runs the measurement and keeps its result for `result`. */
  function onNext(type, key, measure) {
    result = new Promise((resolve, reject) => {
      const started = (event) => {
        if (key && event.key !== key) return;
        removeEventListener(type, started, true);
        measure(performance.now()).then(resolve, reject);
      };
      addEventListener(type, started, true);
    });
    // Asked for later, and an error until then is not one that nobody handles.
    result.catch(() => {});
  }

  window.headscopeClock = {
    seen,
    painted,

    /** Until everything stands: for a page just opened. */
    ready: () => seen(() => painted() && isDone(painted())),

    /** Until a payload is painted: for a page that has nothing but the overview. */
    readyOverview: () => seen(painted),

    /** Times from the event to another payload, and to the rest of the page where that is wanted. */
    armPayload(type, key, withRest) {
      const before = painted()?.id;
      onNext(type, key, (start) => timePaint(start, (now) => now.id !== before, withRest));
    },

    /** Likewise to another head. */
    armHead(type, key, withRest) {
      const before = painted();
      const isOther = (now) => ["attention", "layer", "head"].some((name) => now[name] !== before[name]);
      onNext(type, key, (start) => timePaint(start, isOther, withRest));
    },

    /** Likewise to a translation beside the one before. */
    armAnswer(type) {
      onNext(type, null, async (start) => {
        const shown = await seen(() => document.querySelector('[data-testid="stMain"] .change')?.textContent.trim());
        return { painted: shown.at - start };
      });
    },

    /** Likewise to a tooltip. */
    armTooltip(type) {
      onNext(type, null, async (start) => {
        const shown = await seen(() => tooltip()?.textContent.trim());
        return { painted: shown.at - start };
      });
    },

    hasTooltip: () => tooltip() !== null,
    result: () => result,

    /** The centres of the tiles that can be pointed at, in the window, with what they show. */
    tiles() {
      const overview = explorer().querySelector("[data-tiles]");
      const canvas = explorer().querySelector("canvas.overview");
      const { left, top } = canvas.getBoundingClientRect();
      return JSON.parse(overview.dataset.tiles)
        .map((tile) => ({ ...tile, x: left + tile.x + tile.width / 2, y: top + tile.y + tile.height / 2 }))
        .filter(({ x, y }) => explorer().contains(explorer().getRootNode().elementFromPoint(x, y)));
    },

    /** The box of the large matrix, in the window. */
    matrix() {
      const { left, top, width, height } = explorer().querySelector("canvas.matrix").getBoundingClientRect();
      return { left, top, width, height };
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
