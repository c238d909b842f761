// The record page: printing needs a script, so its button comes with it.
for (const place of document.querySelectorAll("[data-print]")) {
  place.hidden = false;
  place.addEventListener("click", () => print());
}
