"""Converts HTML to text, as JSON. It runs under `toolbox/limited_process.py`, since pages are untrusted.

All visible text is kept in the order of the page, since quotes are looked up in it. Elements that are hidden by
attributes or inline styles are left out and counted; style sheets are not read.
"""

import json
import re
import sys
from html.parser import HTMLParser

SKIPPED_TAGS = frozenset("script style template noscript svg canvas iframe object head select datalist math".split())
BLOCKS = frozenset(
    "address article aside blockquote body caption dd details dialog div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol p pre section summary table tbody tfoot thead tr ul".split()
)
CELLS = frozenset(("td", "th"))
EMPTY = frozenset("area base br col embed hr img input link meta param source track wbr".split())
HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]*[1-9])|opacity\s*:\s*0(?![.\d]*[1-9])"
    r"|(?:left|top|text-indent)\s*:\s*-\d{3,}|clip\s*:\s*rect\(\s*0",
    re.IGNORECASE,
)
MOST_LINKS, LONGEST_LINK, DEEPEST = 200, 500, 400


class HtmlTextReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.title: list[str] = []
        self.links: list[tuple[str, str]] = []
        self.base = ""
        self.hidden = 0
        self._open: list[tuple[str, bool]] = []  # open elements, and whether their text is left out
        self._titled = self._pre = False
        self._link: list[str] | None = None

    @property
    def _out(self) -> bool:
        return bool(self._open) and self._open[-1][1]

    def handle_starttag(self, tag: str, attrs: "list[tuple[str, str | None]]") -> None:
        given = dict(attrs)
        if tag == "title" and not self.title and "svg" not in {name for name, _ in self._open}:
            self._titled = True
        elif tag == "base" and not self.base:
            self.base = given.get("href") or ""
        if tag in BLOCKS or tag == "br":
            self._break("\n\n" if tag in ("p", "table", "ul", "ol", "blockquote") or tag[:1] == "h" else "\n")
        elif tag in CELLS and self.pieces and not self.pieces[-1].endswith("\n"):
            self._add(" | ")
        if tag == "li":
            self._add("- ")
        if tag == "a" and not self._out and (href := given.get("href")):
            self._link = []
            self.links.append((href.strip()[:LONGEST_LINK], ""))
        if tag not in EMPTY and len(self._open) < DEEPEST:
            hides = _hides(given)
            self.hidden += hides and not self._out
            self._open.append((tag, self._out or hides or tag in SKIPPED_TAGS))
        self._pre = self._pre or tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._titled = False
        if tag == "a" and self._link is not None:
            address, _ = self.links[-1]
            self.links[-1] = (address, " ".join("".join(self._link).split())[:120])
            self._link = None
        if tag == "pre":
            self._pre = False
        if any(name == tag for name, _ in self._open):
            while self._open.pop()[0] != tag:
                pass
        if tag in BLOCKS:
            self._break("\n")

    def handle_data(self, data: str) -> None:
        if self._titled:
            self.title.append(data)
        elif not self._out:
            self._add(data if self._pre else re.sub(r"\s+", " ", data))
            if self._link is not None:
                self._link.append(data)

    def _add(self, text: str) -> None:
        if not self._out:
            self.pieces.append(text)

    def _break(self, sign: str) -> None:
        if not self._out:
            self.pieces.append(sign)


def _hides(given: "dict[str, str | None]") -> bool:
    hidden = "hidden" in given or (given.get("aria-hidden") or "").lower() == "true"
    return hidden or bool(HIDDEN_STYLE.search(given.get("style") or ""))


def html_to_text(text: str) -> dict[str, object]:
    reader = HtmlTextReader()
    reader.feed(text)
    reader.close()
    lines = [re.sub(r"[ \t\r\f\v]+", " ", line).strip() for line in "".join(reader.pieces).split("\n")]
    found = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    links = list(dict.fromkeys((address, said) for address, said in reader.links if said))[:MOST_LINKS]
    title = " ".join("".join(reader.title).split())
    return {"text": found, "title": title, "links": links, "hidden": reader.hidden, "base": reader.base}


if __name__ == "__main__":
    print(json.dumps(html_to_text(sys.stdin.buffer.read().decode(errors="replace"))))
