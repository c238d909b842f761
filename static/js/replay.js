// The replay: plays what the page showed, moment by moment, with its real timing or faster.
import { $, $$, clockText, markOverflow, setClock, tick } from "./page.js";

const CALM = 400; // ms between two pictures while it plays: however fast, nothing flashes more than three times a second
const LATE = 0.85; // of the line: what begins behind it has its name before it
const TIGHT = 0.2; // of the line: on a small one two names are too near
const NEAR = 0.06; // the same on a large one
const BREATH = 1000; // ms between two sentences for people who hear the page

const player = $("#player");
const slider = $("[data-time]", player);
const playButton = $("[data-play]", player);
const speed = $("[data-speed]", player);
const note = $("[data-note]", player);
const announcer = $("#announcer");

let frames = [];
let fragments = []; // each a list of { frame, html }, oldest first
let position = 0; // seconds on the line
let current = 0; // the frame that is shown
let playing = false;
let held = false; // by the hand that has its knob

// ---- what it plays ----

function load(told) {
  frames = told.frames;
  fragments = Object.values(told.fragments).map(versionsOf).map(fromTheBeginning);
  slider.max = told.length;
  $("[data-length]", player).textContent = clockText(told.length);
  $(".player__marks", player).append(...frames.filter((frame) => frame.mark || frame.gap).map(markOf));
  $(".player__marks", player).append(...frames.filter((frame) => frame.chapter).map(chapterOf));
  $(".player__controls", player).hidden = false;
  setClock(moment);
  seek(0);
}

// Letters, not units: what is beyond the basic plane counts once, as in the server.
function versionsOf(differences) {
  let letters = [];
  return differences.map(([frame, start, end, text]) => {
    letters = [...letters.slice(0, start), ...text, ...letters.slice(letters.length - end)];
    return { frame, html: letters.join("") };
  });
}

// What came later has its place in the page from the beginning on, with nothing in it.
function fromTheBeginning(versions) {
  if (versions[0].frame === 0) return versions;
  const template = document.createElement("template");
  template.innerHTML = versions[0].html;
  const place = document.getElementById(template.content.firstElementChild.id);
  return [{ frame: 0, html: place.outerHTML }, ...versions];
}

function markOf(frame) {
  const mark = document.createElement("span");
  if (frame.mark) mark.dataset.state = frame.mark;
  else mark.dataset.gap = "";
  mark.style.left = `${(100 * frame.at) / (Number(slider.max) || 1)}%`;
  return mark;
}

function chapterOf(frame, number, chapters) {
  const name = document.createElement("span");
  const share = frame.at / (Number(slider.max) || 1);
  const next = number + 1 < chapters.length ? chapters[number + 1].at / Number(slider.max) : Infinity;
  name.className = "player__chapter";
  name.textContent = frame.chapter;
  name.toggleAttribute("data-late", share > LATE);
  name.toggleAttribute("data-tight", next - share < TIGHT);
  name.toggleAttribute("data-near", next - share < NEAR);
  name.style.left = `${100 * share}%`;
  return name;
}

// The time of day that the position stands for. Within a gap that was shortened it runs faster.
function moment() {
  const frame = frames[current];
  const next = frames[current + 1];
  if (!next || next.at === frame.at) return frame.now;
  const share = Math.min(1, Math.max(0, (position - frame.at) / (next.at - frame.at)));
  return frame.now + share * (next.now - frame.now);
}

// ---- showing ----

const newest = (versions, number) => versions.findLast((version) => version.frame <= number);

function show(number) {
  for (const versions of fragments) {
    const { html, frame } = newest(versions, number);
    if (html !== newest(versions, current).html) replaceLeaf(html, versions.find((later) => later.frame > frame));
  }
  current = number;
  note.textContent = frames[current].gap;
  note.hidden = !frames[current].gap;
  markOverflow();
}

function replaceLeaf(html, following) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const fragment = template.content.firstElementChild;
  for (const span of $$("[data-typed]", fragment)) {
    const began = Date.parse(span.dataset.typed);
    const ended = following ? frames[following.frame].now : began;
    typed.set(span, { letters: [...span.textContent], began, ended });
  }
  document.getElementById(fragment.id).replaceWith(fragment);
}

// What was written while time went by: how it came was never kept, so it comes evenly until it was there.
const typed = new WeakMap();

function type() {
  for (const span of $$("[data-typed]")) {
    const { letters, began, ended } = typed.get(span) ?? { letters: [] };
    const share = ended > began ? Math.min(1, Math.max(0, (moment() - began) / (ended - began))) : 0;
    const words = letters.slice(0, Math.round(share * letters.length)).join("");
    if (span.textContent !== words) span.textContent = words;
  }
}

function frameAt(seconds) {
  return Math.max(0, frames.findLastIndex((frame) => frame.at <= seconds + 0.0005));
}

function showTime() {
  type();
  slider.value = position;
  const time = clockText(position);
  $("[data-at]", player).textContent = time;
  slider.setAttribute("aria-valuetext", `${time} of ${clockText(Number(slider.max))}`);
}

function seek(number) {
  position = frames[number].at;
  show(number);
  showTime();
  tick();
}

// ---- saying: one sentence an event, at most one a second; of several the newest ----

let unsaid = "";
let silentUntil = 0;
let speaking;

function say(sentence) {
  if (!sentence) return;
  unsaid = sentence;
  speaking ??= setTimeout(speak, Math.max(0, silentUntil - performance.now()));
}

function speak() {
  speaking = undefined;
  silentUntil = performance.now() + BREATH;
  announcer.textContent = unsaid;
}

const saidOf = (frame) => [frame.said, frame.gap].filter(Boolean).join(" ");

// ---- playing ----

let last = 0; // when the clock was looked at
let calmUntil = 0;

function play() {
  if (current === frames.length - 1) seek(0);
  playing = true;
  last = performance.now();
  showPlaying();
  requestAnimationFrame(run);
}

function pause() {
  playing = false;
  showPlaying();
}

function run(now) {
  if (!playing) return;
  const length = Number(slider.max);
  const passed = Math.min(1000, Math.max(0, now - last)) / 1000; // a hidden tab is not shown pictures, and waits
  if (!held) position = Math.min(length, position + passed * Number(speed.value));
  last = now;
  const due = frameAt(position);
  if (due > current && now >= calmUntil) {
    const news = frames.slice(current + 1, due + 1).findLast(saidOf);
    show(due);
    if (news) say(saidOf(news));
    calmUntil = now + CALM;
  }
  showTime();
  tick();
  if (current === frames.length - 1 && !held) pause();
  else requestAnimationFrame(run);
}

function showPlaying() {
  $("use", playButton).setAttribute("href", playing ? "#i-pause" : "#i-play");
  $("span", playButton).textContent = playing ? "Pause" : "Play";
  player.toggleAttribute("data-playing", playing);
}

// To the next thing that is said; where an agent is merely asked nothing is.
function step(direction) {
  const end = frames.length - 1;
  let number = Math.min(end, Math.max(0, current + direction));
  while (!frames[number].said && number > 0 && number < end) number += direction;
  go(number);
}

function go(number) {
  pause();
  seek(number);
  say(saidOf(frames[number]));
}

playButton.addEventListener("click", () => (playing ? pause() : play()));
for (const button of $$("[data-step]", player)) {
  button.addEventListener("click", () => step(Number(button.dataset.step)));
}
slider.addEventListener("pointerdown", () => (held = true));
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => (held = false));
slider.addEventListener("input", () => {
  position = Number(slider.value);
  const number = frameAt(position);
  if (number !== current) {
    show(number);
    say(saidOf(frames[number]));
  }
  showTime();
  tick();
});

// Keys count only within the bar. A button keeps its Space, the choice of speed its arrows.
const KEYS = {
  ArrowLeft: () => step(-1),
  ArrowRight: () => step(1),
  Home: () => go(0),
  End: () => go(frames.length - 1),
  " ": () => (playing ? pause() : play()),
};
player.addEventListener("keydown", (event) => {
  const own = event.target.matches("select") || (event.key === " " && event.target.matches("button"));
  if (own || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key] || !frames.length) return;
  event.preventDefault();
  KEYS[event.key]();
});

function isStill() {
  const choice = document.documentElement.dataset.motion;
  return choice ? choice === "off" : matchMedia("(prefers-reduced-motion: reduce)").matches;
}

async function begin() {
  const kept = $("#frames"); // of a page that is opened from a disk
  load(kept ? JSON.parse(kept.textContent) : await framesOf(player.dataset.frames));
  if (!isStill()) play();
}

async function framesOf(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`the frames were not sent: ${answer.status}`);
  return answer.json();
}

begin().catch(() => {
  note.textContent = "The replay could not be loaded. Reload the page to try again.";
  note.hidden = false;
});
