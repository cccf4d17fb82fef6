// Asks the talk to open the notes during the click: browsers open windows only then.
export default function ({ parentElement }) {
  const button = parentElement.querySelector("button");
  const said = parentElement.querySelector("p");
  button.onclick = () => {
    const detail = {};
    window.dispatchEvent(new CustomEvent("headscope-notes", { detail }));
    said.hidden = detail.blocked === false;
    said.textContent = "The browser blocked the window; allow pop-up windows for this address.";
  };
  button.removeAttribute("aria-busy");
  return () => (button.onclick = null);
}
