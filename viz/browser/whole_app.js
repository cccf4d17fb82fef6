// Links to this view outside of the page that embeds it: the address without what embeds.
/** @type {(component: Mounting<unknown>) => () => void} */
export default function ({ parentElement }) {
  const link = /** @type {HTMLAnchorElement} */ (parentElement.querySelector("a"));
  const point = () => {
    const address = new URL(location.href);
    for (const name of ["embed", "embed_options"]) address.searchParams.delete(name);
    link.href = address.href;
  };
  // Anew whenever it may be followed: a view changes without a run.
  const events = ["pointerenter", "pointerdown", "focus"];
  for (const event of events) link.addEventListener(event, point);
  point();
  link.removeAttribute("aria-busy");
  return () => {
    for (const event of events) link.removeEventListener(event, point);
  };
}
