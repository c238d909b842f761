// what htmx asked for in vain is said, where the page would otherwise show something else than what was chosen
const trouble = document.getElementById("trouble");
const announcer = document.getElementById("announcer");

function sayTrouble({ detail: { elt } }) {
  if (!elt.dataset?.trouble) return;
  const again = Object.assign(document.createElement("button"), { className: "link", textContent: "Try again" });
  again.addEventListener("click", () => {
    elt.querySelector(":checked, input")?.focus({ preventScroll: true }); // the button goes
    htmx.trigger(elt, elt.matches("form") ? "submit" : "change");
  });
  trouble.replaceChildren(elt.dataset.trouble, again);
  announcer.textContent = elt.dataset.trouble;
}

for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(failure, sayTrouble);
}
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (!detail.shouldSwap || !detail.requestConfig.elt.dataset.trouble) return;
  trouble.replaceChildren();
  if (announcer.textContent === detail.requestConfig.elt.dataset.trouble) announcer.textContent = "";
});
// the address has changed already; what it stands for comes with a reload, or its error page does
document.addEventListener("htmx:historyCacheMissLoadError", () => location.reload());
