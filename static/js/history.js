// A page that nobody looks at asks for nothing, and one whose session has ended says so.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.id === "watch" && document.hidden) event.preventDefault();
});

document.addEventListener("htmx:beforeSwap", (event) => {
  const answered = new URL(event.detail.xhr.responseURL || location.href);
  if (event.detail.xhr.status === 200 && answered.pathname.startsWith("/accounts/")) {
    event.preventDefault();
    location.reload();
  }
});

// the quick view that shows the same as the address asks for is marked
document.addEventListener("htmx:pushedIntoHistory", () => {
  for (const link of document.querySelectorAll(".presets a")) {
    link.toggleAttribute("aria-current", link.search === location.search);
    if (link.hasAttribute("aria-current")) link.setAttribute("aria-current", "true");
  }
});

// a period and exact days say the same thing in two ways: the one chosen last holds
const days = document.querySelector(".days");
const dates = days ? [...days.querySelectorAll("input")] : [];
days?.addEventListener("input", ({ target }) => {
  if (target.matches("select")) for (const date of dates) date.value = "";
  else days.querySelector("select").value = "";
});

days?.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !days.open) return;
  days.open = false;
  days.querySelector("summary").focus();
});
document.addEventListener("pointerdown", ({ target }) => {
  if (days && !days.contains(target)) days.open = false;
});
