// What the first screen of a page shows: its pictures, words and controls.
() => {
  const [height, width] = [innerHeight, innerWidth];
  const pictures = [];
  const texts = [];
  const controls = [];
  const CONTROLS = "button, a[href], input, select, textarea, summary, [role=tab], [role=radio], [role=slider], [role=switch]";
  const shownIn = (element) => {
    const place = element.getBoundingClientRect();
    const { visibility, opacity } = getComputedStyle(element);
    const isShown = place.width > 2 && place.height > 2 && place.top > -1000 && place.left > -1000;
    return isShown && visibility !== "hidden" && opacity !== "0" ? place : null;
  };
  const isOnScreen = ({ top, bottom, left, right }) => bottom > 0 && top < height && right > 0 && left < width;
  const isPicture = (element) =>
    element.classList.contains("js-plotly-plot") ||
    ["canvas", "svg"].includes(element.tagName.toLowerCase()) ||
    element.shadowRoot ||
    ["img", "grid"].includes(element.getAttribute("role"));
  const readText = (node) => {
    const parent = node.parentElement;
    if (!parent || !node.textContent.trim()) return;
    const range = document.createRange();
    range.selectNodeContents(node);
    const place = range.getBoundingClientRect();
    const { clipPath, visibility } = getComputedStyle(parent);
    const isShown = place.width > 2 && place.height > 2 && parent.getBoundingClientRect().width > 2;
    if (isShown && clipPath === "none" && visibility !== "hidden" && isOnScreen(place)) texts.push(node.textContent.trim());
  };
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) readText(node);
    if (node.nodeType === Node.ELEMENT_NODE) {
      if (["SCRIPT", "STYLE", "TITLE", "NOSCRIPT"].includes(node.tagName)) return;
      const place = shownIn(node);
      if (place && place.width >= 240 && place.height >= 140 && place.top < height && isPicture(node)) {
        const { top, bottom, width: across, height: down } = place;
        pictures.push({ top, area: across * down, share: Math.max(0, Math.min(height, bottom) - Math.max(0, top)) / down });
      }
      if (place && isOnScreen(place) && node.matches(CONTROLS)) {
        controls.push(node.getAttribute("aria-label") || node.textContent.trim());
      }
      if (node.shadowRoot) walk(node.shadowRoot);
    }
    if ([Node.ELEMENT_NODE, Node.DOCUMENT_FRAGMENT_NODE].includes(node.nodeType)) node.childNodes.forEach(walk);
  };
  walk(document.body);
  const largest = pictures.reduce((best, each) => (each.area > best.area ? each : best), { area: 0, share: 0 });
  return {
    top: Math.min(...pictures.map(({ top }) => top)),
    share: largest.share,
    words: texts.join(" ").split(/\s+/).filter((word) => /\p{L}/u.test(word)),
    controls,
  };
};
