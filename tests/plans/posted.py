"""What a browser would post of the form on a page, and how its fields are marked."""

from html.parser import HTMLParser


class PostedPage(HTMLParser):
    """`fields`: by their names; `marks`: every element as its attributes."""

    def __init__(self, html):
        super().__init__()
        self.fields, self.marks, self._area, self._select, self._inside = {}, [], "", "", False
        self.feed(html.decode())

    def handle_starttag(self, tag, pairs):
        given = dict(pairs)
        self.marks.append({"tag": tag, **given})
        if tag == "form":
            self._inside = "newd" in given.get("class", "") or "team-form" in given.get("class", "")
        if self._inside:
            self._field(tag, given)

    def _field(self, tag, given):
        name, kind = given.get("name", ""), given.get("type", "")
        if tag == "input" and kind in ("text", "hidden") and name != "csrfmiddlewaretoken":
            self.fields[name] = given.get("value") or ""
        elif tag == "input" and kind == "checkbox" and "checked" in given:
            self.fields[name] = "on"
        elif tag == "textarea":
            self._area, self.fields[name] = name, ""
        elif tag == "select":
            self._select = name
        elif tag == "option" and "selected" in given:
            self.fields[self._select] = given["value"]

    def handle_data(self, data):
        if self._area:
            self.fields[self._area] += data

    def handle_endtag(self, tag):
        if tag == "textarea" and self._area:
            self.fields[self._area] = self.fields[self._area].removeprefix("\n")
            self._area = ""

    def with_(self, mark):
        return [one for one in self.marks if mark in one]
