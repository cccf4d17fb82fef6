// For an article: gives every <iframe data-headscope> the height of the picture in it.

addEventListener("message", ({ data, source }) => {
  if (data?.headscope !== "size" || !(data.height > 0 && data.height < 10_000)) return;
  for (const frame of /** @type {NodeListOf<HTMLIFrameElement>} */ (document.querySelectorAll("iframe[data-headscope]"))) {
    if (frame.contentWindow === source) frame.style.height = `${data.height}px`;
  }
});
