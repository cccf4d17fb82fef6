// Closes the navigation drawer: Streamlit does so only for mobile user agents, and remembers an open one.
export default function ({ parentElement }) {
  const close = (event) => {
    if (!event.target.closest?.('[data-testid="stSidebarNavLink"]')) return;
    // After Streamlit has handled the click: if it closes the drawer itself, the button is gone.
    setTimeout(() => document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click());
  };
  document.addEventListener("click", close);
  parentElement.querySelector("span").removeAttribute("aria-busy");
  return () => document.removeEventListener("click", close);
}
