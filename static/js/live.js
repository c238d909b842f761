// The live page: what its socket and, without one, its polls bring, and the truth about the connection.
import { listen, titled } from "./bar.js";
import { $, $$, markOverflow, tick } from "./page.js";
import { forget, isPressed, unlessPressed } from "./press.js";
import { tellOver, tellWaits } from "./tell.js";

const OVER = ["approve", "reject", "failed", "stopped"];
const BANNER_AFTER = 2000;
const SAID_AFTER = 250;
const POLL_AFTER = 15000; // without an open socket
const POLL_EVERY = 5000;
const MARKS = {
  connecting: "Connecting",
  live: "Live",
  polling: "Every 5 s",
  reconnecting: "Reconnecting",
  offline: "Offline",
  ended: "Not live",
};
const banner = $("#conn-banner");
const { noun } = banner.dataset; // what a run of this kind is called
const ENDED = {
  // codes after which the socket stays closed
  4404: ["This page is no longer updated.", `You may have been signed out, or may not see this ${noun} any more.`],
  4429: ["This page is not updated.", `You have this ${noun} open too many times. Close other pages of it first.`],
};
const announcer = $("#announcer");
let connection = "connecting";
let lostTimer;
let justBack = false;
let lastMessage = new Date();

const isOver = () => OVER.includes($("#plate").dataset.state);
const isFinal = () => !$("#ws").hasAttribute("ws-connect"); // what failed can still be tried again

// ---- the mark and the banner: say so when what is shown may be old ----

function showConnection(kind = connection) {
  connection = kind;
  const mark = $("#conn");
  if (!mark || mark.dataset.conn === kind) return;
  mark.dataset.conn = kind;
  mark.textContent = MARKS[kind];
}

function showBanner() {
  const offline = !navigator.onLine;
  const last = lastMessage.toTimeString().slice(0, 8);
  banner.dataset.kind = offline ? "offline" : "reconnecting";
  $("use", banner).setAttribute("href", offline ? "#i-off" : "#i-retry");
  $("strong", banner).textContent = offline ? "You are offline." : "Reconnecting.";
  $("[data-rest]", banner).textContent =
    `The ${noun} goes on without this page. Last update at ${last}.` + (offline ? " It reconnects by itself." : "");
  $("[data-reload]", banner).hidden = offline;
  banner.hidden = false;
  if (offline) showConnection("offline");
  mayCancel(!offline);
  announcer.textContent = offline ? "You are offline." : "Connection lost. Reconnecting.";
}

function showEnd([strong, rest]) {
  clearTimeout(lostTimer);
  clearTimeout(pollTimer);
  banner.dataset.kind = "ended";
  $("use", banner).setAttribute("href", "#i-off");
  $("strong", banner).textContent = strong;
  $("[data-rest]", banner).textContent = rest;
  $("[data-reload]", banner).hidden = false;
  banner.hidden = false;
  document.body.classList.add("is-stale");
  showConnection("ended");
  announcer.textContent = `${strong} ${rest}`;
}

function lost() {
  if (isOver()) return;
  if (connection !== "connecting") showConnection(navigator.onLine ? "reconnecting" : "offline");
  document.body.classList.add("is-stale");
  lostTimer ??= setTimeout(showBanner, BANNER_AFTER); // one per loss: each failed retry closes again
}

function back(kind) {
  clearTimeout(lostTimer);
  lostTimer = undefined;
  if (!banner.hidden) {
    justBack = true;
    announcer.textContent = ""; // that it was lost
  }
  banner.hidden = true;
  document.body.classList.remove("is-stale");
  showConnection(kind);
  mayCancel(true);
}

// Only after the snapshot, which brings its own sentence: said earlier, this one would be overwritten.
function sayBack() {
  justBack = false;
  announcer.textContent = `Connected again. The page is up to date. ${announcer.textContent}`.trim();
}

function upToDate() {
  lastMessage = new Date();
  if (justBack) sayBack();
  markOverflow();
  tick();
}

$("[data-reload]").addEventListener("click", () => location.reload());

// ---- the socket. Each message names the version it brings: an old one must not undo a newer, and what is here is said ----

let socket; // the newest one; of those before nothing is heard any more
let version = 0;
let saying; // the timer of what is to be said

const isOpen = () => socket?.readyState === WebSocket.OPEN;
const versionOf = (message) => Number(/^<!--(\d+)-->/.exec(message)?.[1] ?? 0);

htmx.createWebSocket = (url) => (socket = new WebSocket(url));
// soon while a server may be starting again, seldom where it stays away; never all pages at once
htmx.config.wsReconnectDelay = (retry) => 500 + Math.random() * Math.min(500 * 2 ** retry, retry < 8 ? 3000 : 20_000);

// a moment later, and once for all that came: the server has others to serve first
function acknowledge(wrapper) {
  const say = () => {
    saying = undefined;
    if (isOpen()) wrapper.sendImmediately(String(version));
  };
  if (document.hidden) say(); // there a timer may come too late
  else saying ??= setTimeout(say, SAID_AFTER);
}

document.addEventListener("htmx:wsClose", ({ detail }) => {
  if (detail.event.target !== socket || connection === "ended") return;
  if (ENDED[detail.event.code]) return showEnd(ENDED[detail.event.code]);
  if (isFinal()) return;
  pollTimer ??= setTimeout(poll, POLL_AFTER);
  if (connection !== "polling") lost();
});
document.addEventListener("htmx:wsOpen", () => {
  version = 0; // another process may count from another beginning
  forget("message");
  clearTimeout(saying);
  saying = undefined;
  stopPolling();
  back("live");
});
const comeAgain = (data) => socket.dispatchEvent(new MessageEvent("message", { data }));
document.addEventListener("htmx:wsBeforeMessage", (event) => {
  const { message, socketWrapper } = event.detail;
  const isNew = versionOf(message) > version;
  if (isNew && !isPressed()) return;
  event.preventDefault();
  // it comes again later: each brings all that was not acknowledged, so the newest brings what others did
  if (isNew) return unlessPressed("message", () => comeAgain(message));
  acknowledge(socketWrapper); // what was said before may have been lost
});
document.addEventListener("htmx:wsAfterMessage", (event) => {
  const { message, socketWrapper } = event.detail;
  version = versionOf(message);
  acknowledge(socketWrapper);
  upToDate();
});

// A socket does not notice by itself that its network is gone, nor that it comes from another one now.
let reconnect = () => {};
document.addEventListener("htmx:wsOpen", ({ detail }) => {
  reconnect = () => isOpen() && detail.socketWrapper.reconnect();
});
addEventListener("offline", () => {
  if (isOver() || connection === "ended") return;
  lost();
  showBanner();
});
addEventListener("online", () => {
  if (banner.dataset.kind === "offline" && !banner.hidden) showBanner();
  reconnect();
});

// ---- without a socket: the same fragments, asked for every few seconds ----

const poller = $("#poll");
let pollTimer = poller && setTimeout(poll, POLL_AFTER);
let tag = ""; // of what the last poll brought

function poll() {
  htmx.trigger(poller, "due");
}

function stopPolling() {
  clearTimeout(pollTimer);
  pollTimer = undefined;
  if (poller) htmx.trigger(poller, "htmx:abort");
}

// no right to see it any more, or signed out and thus sent to the page that asks to sign in
const wasSentElsewhere = (xhr) => new URL(xhr.responseURL).pathname !== poller.getAttribute("hx-get");
const isRefused = (xhr) => xhr.status === 404 || (xhr.status === 200 && wasSentElsewhere(xhr));

poller?.addEventListener("htmx:configRequest", ({ detail }) => {
  if (tag) detail.headers["If-None-Match"] = tag;
});
poller?.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const { xhr } = detail;
  if (isOpen() || isRefused(xhr) || xhr.status === 304) detail.shouldSwap = false; // what a socket brought is newer
  if (isPressed()) detail.shouldSwap = false; // the next one brings it
  if (!detail.shouldSwap) return;
  tag = xhr.getResponseHeader("ETag") ?? tag;
  back("polling"); // before the sentence that it brings
});
poller?.addEventListener("htmx:afterRequest", ({ detail }) => {
  const { xhr } = detail;
  if (isOpen() || connection === "ended") return;
  if (isRefused(xhr)) return showEnd(ENDED[4404]);
  if (xhr.status === 200 || xhr.status === 304) {
    back("polling");
    upToDate();
  } else {
    lost();
  }
  pollTimer = isFinal() ? undefined : setTimeout(poll, POLL_EVERY);
});

// ---- focus stays when its fragment is replaced: on the same link, or on the fragment where that has gone ----

let left; // the fragment that is about to go with the focus, and the words of what has it

function focusLeaf(id, words) {
  const fragment = document.getElementById(id);
  if (!fragment) return;
  const same = $$("a, button", fragment).find((link) => link.textContent === words);
  if (!same) fragment.tabIndex = -1;
  (same ?? fragment).focus({ preventScroll: true });
}

document.addEventListener("htmx:oobBeforeSwap", ({ target }) => {
  const inside = target.contains(document.activeElement);
  left = inside ? [target.id, document.activeElement.textContent] : undefined;
});
document.addEventListener("htmx:oobAfterSwap", () => {
  const stays = left && document.getElementById(left[0])?.contains(document.activeElement); // it was not replaced
  if (left && !stays) focusLeaf(...left);
  left = undefined;
});

// ---- the question before cancelling; without it the button leads to a page that asks the same ----

const question = $("#cancel");
let asked; // the fragment whose button brought it, and the words on that

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-cancel]");
  if (!question || !button) return;
  event.preventDefault();
  if (button.ariaDisabled === "true") return;
  asked = [button.closest("[id]").id, button.textContent];
  question.showModal();
});
question?.addEventListener("close", () => {
  const focused = document.activeElement; // its own button still, where the page has not been drawn since
  if (focused === document.body || question.contains(focused)) focusLeaf(...asked);
});

function mayCancel(may) {
  const button = $("[data-cancel]");
  if (may) button?.removeAttribute("aria-disabled");
  else button?.setAttribute("aria-disabled", "true");
}

// ---- that it is over is told to who looks at something else meanwhile ----

let wasOver = isOver();

function tellEnd() {
  if (isOver() === wasOver) return;
  wasOver = isOver();
  const { title } = $("#plate").dataset;
  if (wasOver && document.hidden) tellOver([{ title: heading, word: title, address: location.pathname }]);
}

// ---- which runs belong to it: shown as far as whoever looks may see them, so the page asks for its own ----

const made = $("#made");

async function askMade() {
  const answer = await fetch(made.dataset.made, { cache: "no-store" });
  if (!answer.ok || answer.redirected) return; // the next change asks again
  const text = await answer.text();
  unlessPressed("made", () => showMade(text));
}

function showMade(text) {
  const focused = made.contains(document.activeElement) ? document.activeElement.textContent : null;
  $("#made-shown").innerHTML = text;
  if (focused !== null) focusLeaf("made", focused);
}

let mark = $("#made-mark")?.dataset.mark;
if (made)
  new MutationObserver(() => {
    const now = $("#made-mark").dataset.mark;
    if (now === mark) return;
    mark = now;
    askMade().catch(() => {}); // not reachable now: the socket says so
  }).observe(made, { childList: true });

listen($("#tell")?.dataset.after, (gates, over) => {
  tellWaits(gates);
  tellOver(over, isOver() && !document.hidden ? location.pathname : "");
});

// The tab's title follows the plate, and the mark what is known of the connection, whatever was replaced. An
// observer, because the last message takes the socket and its events away.
const heading = $("h1").textContent;
new MutationObserver(() => {
  showConnection();
  markOverflow();
  if (isOver()) question?.close(); // there is nothing left to cancel
  titled(`${$("#plate").dataset.title}: ${heading} · MAGI`);
  tellEnd();
}).observe($("#plate").closest("section, main"), { childList: true, subtree: true });
