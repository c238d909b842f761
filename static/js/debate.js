// The transcript of a debate follows what is newest, as long as one reads at its end.
import { $ } from "./page.js";

const box = $("#log");
const list = $(".log__list", box);
const news = $(".log__new");
const all = $(".log__all");
const NEAR = 48; // px that count as the end

const isScrolled = () => getComputedStyle(box).overflowY === "auto"; // on phones the page itself is
const isAtEnd = () => box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
const shown = () => list.querySelectorAll(":scope > [id^='msg-']:not([hidden], [aria-busy])").length;

let following = true;
let read = shown();

function toEnd() {
  box.scrollTop = box.scrollHeight;
}

function count() {
  const unread = shown() - read;
  if (following || unread <= 0) {
    read = shown();
    news.hidden = true;
    return;
  }
  const words = unread === 1 ? "1 new message" : `${unread} new messages`;
  if (news.textContent !== words) news.textContent = words;
  news.hidden = false;
}

box.addEventListener("scroll", () => {
  following = isAtEnd();
  if (following) count();
});
news.addEventListener("click", () => {
  toEnd();
  box.focus({ preventScroll: true });
});
all.addEventListener("click", () => {
  list.toggleAttribute("data-all", true);
  box.focus({ preventScroll: true });
});

// what is replaced is replaced in the list: one look after all of a message is in
new MutationObserver(() => {
  if (!isScrolled()) return;
  if (following) toEnd();
  count();
}).observe(list, { childList: true, subtree: true, attributes: true, attributeFilter: ["hidden"] });

if (isScrolled() && !location.hash) toEnd();
document.fonts?.ready.then(() => following && isScrolled() && !location.hash && toEnd());
