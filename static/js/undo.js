// What was typed and has been replaced can be had back for a while, by the button in #undo.
const FOR_A_WHILE = 10_000;
const undo = document.getElementById("undo");
let taking;
let gone; // told when it cannot be had back any more

export function offerUndo(bringBack, whenGone) {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "link", textContent: "Undo" });
  button.addEventListener("click", () => {
    bringBack();
    takeUndoAway();
  });
  undo.replaceChildren("Replaced. ", button);
  gone = whenGone;
  wait();
}

function takeUndoAway() {
  clearTimeout(taking);
  gone();
  undo.replaceChildren();
}

// not from under somebody's hands
function wait() {
  clearTimeout(taking);
  taking = setTimeout(() => (undo.matches(":hover, :focus-within") ? wait() : takeUndoAway()), FOR_A_WHILE);
}
