// The number in the bar and in the page's title: what waits for whoever looks, true as long as the page is open.
const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

const FINAL = [4404, 4429]; // codes after which the socket stays closed
let number = $(".nav .nav__n")?.textContent ?? "";
let title = document.title.replace(/^\(\d+\+?\) /, "");

function span(kind, text) {
  const made = document.createElement("span");
  made.className = kind;
  made.textContent = text;
  return made;
}

export function titled(said = title) {
  title = said;
  document.title = number ? `(${number}) ${title}` : title;
}

// as _nav_links.html and _bar.html write it
function showNumber() {
  for (const link of $$("[data-waits]")) {
    const said = number ? [span("vh", ","), " ", span("nav__n", number), span("vh", " for you")] : [];
    link.replaceChildren("Waiting", ...said);
  }
  const menu = $(".account summary");
  $(".nav__n", menu)?.remove();
  if (number) $(".who", menu).after(span("nav__n narrow", number));
  $(".nav__n", menu)?.setAttribute("aria-hidden", "true");
  titled();
}

// `after`: the newest gate that the page was painted with, where it wants to hear what is newer; `heard` is told of that
export function listen(after, heard = () => {}) {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  let failed = 0;
  const open = () => {
    const socket = new WebSocket(`${scheme}://${location.host}/ws/waiting/${after ? `?after=${after}` : ""}`);
    socket.addEventListener("open", () => (failed = 0));
    socket.addEventListener("message", ({ data }) => {
      const said = JSON.parse(data);
      if (number !== said.number) {
        number = said.number;
        showNumber();
      }
      heard(said.new);
    });
    socket.addEventListener("close", ({ code }) => {
      if (FINAL.includes(code)) return;
      setTimeout(open, 1000 + Math.random() * Math.min(1000 * 2 ** failed++, 30_000));
    });
  };
  open();
}
