// The numbers in the bar, in the page's title and in the tab's icon: what waits for whoever looks and which of their runs
// are under way, true as long as the page is open.
const $ = (selector, within = document) => within.querySelector(selector);
const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

const FINAL = [4404, 4429]; // codes after which the socket stays closed
let number = $(".nav .nav__n")?.textContent ?? "";
let running = $(".nav .nav__runs")?.textContent ?? "";
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

const inIcon = (shown) => parseInt(shown || "0", 10);

function showIcon() {
  const icon = document.getElementById("icon");
  const counted = `/icon/${inIcon(number)}/${inIcon(running)}.svg`;
  icon.href = number || running ? counted : icon.dataset.plain;
}

// as _nav_links.html and _bar.html write it
function showLink(kind, word, shown, classes, rest) {
  for (const link of $$(`[${kind}]`)) {
    const said = shown ? [span("vh", ","), " ", span(classes, shown), span("vh", rest)] : [];
    link.replaceChildren(word, ...said);
  }
}

function showNumbers() {
  showLink("data-waits", "Waiting", number, "nav__n", " for you");
  showLink("data-runs", "History", running, "nav__runs", " of yours under way");
  showIcon();
  const menu = $(".account summary");
  $(".nav__n", menu)?.remove();
  if (number) $(".who", menu).after(span("nav__n narrow", number));
  $(".nav__n", menu)?.setAttribute("aria-hidden", "true");
  titled();
}

// `after`: the newest gate that the page was painted with, where it wants to hear what is newer; `heard` is told of that,
// and of the runs that have ended since
export function listen(after, heard = () => {}) {
  let since = 0; // now, as the server says it; a later socket goes on from there
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  let failed = 0;
  const open = () => {
    const socket = new WebSocket(`${scheme}://${location.host}/ws/waiting/?since=${since}${after ? `&after=${after}` : ""}`);
    socket.addEventListener("open", () => (failed = 0));
    socket.addEventListener("message", ({ data }) => {
      const said = JSON.parse(data);
      since = said.since;
      if (number !== said.number || running !== said.running) {
        ({ number, running } = said);
        showNumbers();
      }
      heard(said.new, said.over);
    });
    socket.addEventListener("close", ({ code }) => {
      if (FINAL.includes(code)) return;
      setTimeout(open, 1000 + Math.random() * Math.min(1000 * 2 ** failed++, 30_000));
    });
  };
  open();
}
