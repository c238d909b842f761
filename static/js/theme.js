// Loaded before the first paint: the visitor's theme and motion, where they chose one.
for (const name of ["theme", "motion"]) {
  try {
    const chosen = localStorage.getItem(name);
    if (chosen) document.documentElement.dataset[name] = chosen;
  } catch {
    // storage may be forbidden; then the system's choice holds
  }
}
