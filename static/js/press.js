// What is pressed is not replaced before it is let go of: the press would come to nothing, or hit what came instead.
const LONGEST = 2000; // milliseconds that a page waits for a press
const TAP = 300; // from when a finger has left to the click, which hits what lies there by then
let pressed = false;
let timer; // until it counts as let go of
const due = new Map(); // what is done then, by what it brings: the newest alone

function letGo() {
  clearTimeout(timer);
  pressed = false;
  const now = [...due.values()];
  due.clear();
  for (const act of now) act();
}

function letGoIn(milliseconds) {
  clearTimeout(timer);
  timer = setTimeout(letGo, milliseconds);
}

function press() {
  pressed = true;
  letGoIn(LONGEST);
}

addEventListener("pointerdown", press);
addEventListener("pointerup", ({ pointerType }) => letGoIn(pointerType === "mouse" ? 0 : TAP));
addEventListener("pointercancel", letGo);
addEventListener("click", () => letGoIn(0), true); // once all who listen have had it
addEventListener("keydown", ({ key, repeat }) => key === " " && !repeat && press());
addEventListener("keyup", ({ key }) => key === " " && letGoIn(0));

export const isPressed = () => pressed;

// At once, or as soon as nothing is pressed, unless something newer of that name has come by then.
export function unlessPressed(name, act) {
  if (pressed) due.set(name, act);
  else act();
}

export const forget = (name) => due.delete(name);
