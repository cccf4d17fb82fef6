// What is wrong in what is seen of a page, a sentence for each: texts that are printed over each other or that something
// else covers, controls below others, and texts that are cut beside empty space.
() => {
  const above = (node) => node.parentElement ?? node.getRootNode().host ?? null;
  const within = (node, other) => {
    for (let each = node; each; each = above(each)) if (each === other) return true;
    return false;
  };
  const meet = (one, other) => ({
    left: Math.max(one.left, other.left),
    top: Math.max(one.top, other.top),
    right: Math.min(one.right, other.right),
    bottom: Math.min(one.bottom, other.bottom),
  });
  const roots = [];
  const find = (root) => {
    roots.push(root);
    for (const each of root.querySelectorAll("*")) if (each.shadowRoot) find(each.shadowRoot);
  };
  find(document);

  const seen = (element) =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });
  const clipsOf = (element) => {
    const clips = [{ left: 0, top: 0, right: innerWidth, bottom: innerHeight }];
    for (let each = element; each; each = above(each)) {
      const look = getComputedStyle(each);
      // Only for those who hear the page.
      if (look.clipPath === "inset(50%)" || look.clip === "rect(0px, 0px, 0px, 0px)") return null;
      if (look.overflow !== "visible" && look.display !== "inline") clips.push(each.getBoundingClientRect());
    }
    return clips;
  };
  const wrong = new Set();
  const texts = [];
  for (const root of roots) {
    const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (nodes.nextNode()) {
      const node = nodes.currentNode;
      const owner = node.parentElement;
      if (!owner || !node.data.trim() || ["STYLE", "SCRIPT", "OPTION"].includes(owner.tagName) || !seen(owner)) continue;
      const clips = clipsOf(owner);
      if (!clips) continue;
      // Slanted labels stand beside each other in boxes that overlap.
      const drawn = owner.getScreenCTM?.();
      if (drawn && Math.abs(drawn.a * drawn.b) > 0.01) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const frame = owner.ownerSVGElement?.getBoundingClientRect();
      // On the narrowest phones, titles of charts still end at the edge.
      if (frame && innerWidth >= 390) {
        const { left, right } = range.getBoundingClientRect();
        if (left < frame.left - 2 || right > frame.right + 2) wrong.add(`“${node.data.trim().slice(0, 40)}” is cut by its picture`);
      }
      // A line is as high as its letters, however far lines stand apart.
      const letters = 1.15 * parseFloat(getComputedStyle(owner).fontSize);
      for (const { left, top, right, bottom } of range.getClientRects()) {
        const spare = Math.max(0, (bottom - top - letters) / 2);
        const box = clips.reduce(meet, { left, top: top + spare, right, bottom: bottom - spare });
        if (box.right - box.left > 3 && box.bottom - box.top > 3) texts.push({ node, owner, box, text: node.data.trim().slice(0, 40) });
      }
    }
  }

  for (const [place, one] of texts.entries()) {
    for (const other of texts.slice(place + 1)) {
      const both = meet(one.box, other.box);
      if (one.node !== other.node && both.right - both.left > 2 && both.bottom - both.top > 2) wrong.add(`“${one.text}” is printed over “${other.text}”`);
    }
  }
  const hit = (x, y) => {
    let found = document.elementFromPoint(x, y);
    for (let root = found?.shadowRoot; root; root = found.shadowRoot) {
      const inner = root.elementFromPoint(x, y);
      if (!inner || inner === found) break;
      found = inner;
    }
    return found;
  };
  for (const { owner, box, text } of texts) {
    if (getComputedStyle(owner).pointerEvents === "none") continue;
    const middle = (box.left + box.right) / 2;
    for (const y of [box.top + 2, box.bottom - 2]) {
      const top = hit(middle, y);
      if (!top || within(top, owner) || within(owner, top)) continue;
      // What has no ground of its own, such as the room of a button, covers nothing.
      let covers = false;
      for (let each = top; each && !within(owner, each); each = above(each)) {
        covers ||= !/^rgba\(.*, 0\)$|^transparent$/.test(getComputedStyle(each).backgroundColor);
      }
      if (covers) wrong.add(`“${text}” is covered by ${top.tagName.toLowerCase()} “${top.textContent.trim().slice(0, 40)}”`);
    }
  }

  const named = (element) => (element.ariaLabel || element.textContent.trim() || element.tagName.toLowerCase()).slice(0, 40);
  for (const root of roots) {
    for (const control of root.querySelectorAll("button, a[href], input, select, [role=button], [role=slider]")) {
      if (!seen(control) || control.closest("[inert]") || getComputedStyle(control).pointerEvents === "none") continue;
      const clips = clipsOf(control);
      const box = clips && [control.getBoundingClientRect(), ...clips].reduce(meet);
      if (!box || box.right - box.left < 8 || box.bottom - box.top < 8) continue;
      const top = hit((box.left + box.right) / 2, (box.top + box.bottom) / 2);
      const other = top?.closest("button, a[href], input, [role=button], [role=slider]");
      if (other && !within(other, control) && !within(control, other) && !other.labels?.length) {
        wrong.add(`“${named(control)}” lies below “${named(other)}”`);
      }
    }
    for (const cut of root.querySelectorAll("*")) {
      const missing = cut.scrollWidth - cut.clientWidth;
      const look = getComputedStyle(cut);
      if (look.textOverflow !== "ellipsis" || look.overflowX === "visible" || missing < 2 || !seen(cut) || !clipsOf(cut)) continue;
      const { right, top, bottom } = cut.getBoundingClientRect();
      const places = Array.from({ length: 8 }, (_, place) => right + 4 + ((missing + 8) * place) / 7);
      const isEmpty = places.every((x) => x < innerWidth - 16 && within(cut, hit(x, (top + bottom) / 2)));
      if (isEmpty && top > 0 && bottom < innerHeight) wrong.add(`“${named(cut)}” is cut beside empty space`);
    }
  }
  return [...wrong];
}
