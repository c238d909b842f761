// The page on which a debate is begun. All of it works without this, by one button more.
const form = document.querySelector("form.newd");

// a file is read as soon as it is chosen, so that it is seen as the members will see it
form.addEventListener("change", ({ target }) => {
  if (target.name === "documents" && target.files.length) form.requestSubmit(document.getElementById("attach"));
});

// what a panel holds has come: it may cost something else
document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target?.id === "options") document.body.dispatchEvent(new Event("panel-taken"));
});
