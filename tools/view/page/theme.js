// Light or dark: as the system has it, until a person chooses; the choice is part of the address.

import * as state from "tutti/state";

// Calls `changed` when the colours are others.
export function reactToTheme(button, changed) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const now = () => state.get("theme") || (system.matches ? "dark" : "light");
  const apply = () => {
    if (document.documentElement.dataset.theme === now()) return;
    document.documentElement.dataset.theme = now();
    button.textContent = now() === "dark" ? "☀" : "☾";
    button.setAttribute("aria-label", now() === "dark" ? "Change to light" : "Change to dark");
    changed();
  };
  button.addEventListener("click", () => state.set({ theme: now() === "dark" ? "light" : "dark" }));
  system.addEventListener("change", apply);
  state.listen(apply);
  apply();
}
