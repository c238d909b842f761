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
