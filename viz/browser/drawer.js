// Streamlit closes its drawer of pages only for browsers that call themselves mobile, and remembers one left open.
export default function ({ parentElement }) {
  const close = (event) => {
    if (!event.target.closest?.('[data-testid="stSidebarNavLink"]')) return;
    // After Streamlit has heard the click: where it closes the drawer itself, the button is gone.
    setTimeout(() => document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click());
  };
  document.addEventListener("click", close);
  parentElement.querySelector("span").removeAttribute("aria-busy");
  return () => document.removeEventListener("click", close);
}
