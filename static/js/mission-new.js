// The page on which a mission is begun. All of it works without this: “Add a file” then loads the page anew.
import { $, $$ } from "./page.js";

const pasted = $("#pasted");

function addRow(path = "", text = "") {
  const last = $$(".pasted", pasted).at(-1);
  const number = Number($("input", last).name.replace("path-", "")) + 1;
  const row = last.cloneNode(true);
  for (const part of $$("[id], [for], [name]", row)) {
    for (const name of ["id", "for", "name"]) {
      if (part.hasAttribute(name)) part.setAttribute(name, part.getAttribute(name).replace(/\d+$/, number));
    }
  }
  for (const part of $$("legend, label", row)) part.textContent = part.textContent.replace(/\d+$/, number);
  $("input", row).value = path;
  $("textarea", row).value = text;
  pasted.append(row);
  return row;
}

$("[data-more]").addEventListener("click", (event) => {
  event.preventDefault();
  $("input", addRow()).focus();
});

// what is chosen stands on the page at once, where it can be read, corrected and taken out
const isEmpty = (row) => !$("input", row).value && !$("textarea", row).value;
$("#uploads").addEventListener("change", async ({ target }) => {
  const left = [];
  for (const file of target.files) {
    const text = file.size < 400_000 ? await file.text() : "\ufffd";
    if (text.includes("\ufffd") || text.includes("\0")) {
      left.push(file); // no text: the server says so
      continue;
    }
    const last = $$(".pasted", pasted).at(-1);
    const row = isEmpty(last) ? last : addRow();
    $("input", row).value = file.name;
    $("textarea", row).value = text;
  }
  const rest = new DataTransfer();
  for (const file of left) rest.items.add(file);
  target.files = rest.files;
  addRow();
});
