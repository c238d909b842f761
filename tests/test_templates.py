"""The rules of every template, whatever page it belongs to."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
SCRIPTS_AND_SHEETS = [*(ROOT / "static/js").rglob("*.js"), *(ROOT / "static/css").rglob("*.css")]
LONGEST_LINE = 160  # what a review shows beside its other side
# the policy of contents would stop them, and nothing would say so
FORBIDDEN = {
    "an inline style": r"\sstyle\s*=|<style",
    "an inline script": r"<script(?![^>]*\ssrc=)",
    "an event handler": r"\son[a-z]+\s*=|hx-on",
    "another host": r"https?://(?!www\.w3\.org)|(?:src|href|action)=[\"']?//",
    "text that is not escaped": r"\|\s*(?:safe|safeseq)\b|autoescape",
}


def test_no_template_has_what_the_policy_of_contents_would_stop():
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in TEMPLATES}
    found = [(name, what) for name, text in texts.items() for what, form in FORBIDDEN.items() if re.search(form, text)]
    assert not found


def test_what_says_that_it_could_not_be_fetched_has_where_to_say_it():
    """A page whose parts say what is wrong has the place for it, its look and the script that writes it."""
    texts = {str(path.relative_to(ROOT / "templates")): path.read_text() for path in TEMPLATES}

    def whole(text, seen=()):
        parts = set(re.findall(r'{% include "([^"]+)"', text)) - {*seen}
        return text + "".join(whole(texts[name], (*seen, *parts)) for name in parts)

    pages = {name: whole(text) for name, text in texts.items() if "{% extends" in text}
    saying = {name: text for name, text in pages.items() if "data-trouble" in text}
    needed = ('id="trouble"', "js/answers.js", "css/answers.css")
    assert [name for name, text in saying.items() if not all(one in text for one in needed)] == []
    assert len(saying) >= 4


def test_no_line_is_too_long_to_be_reviewed():
    too_long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in [*TEMPLATES, *SCRIPTS_AND_SHEETS]
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LONGEST_LINE
    ]
    assert too_long == []


def test_no_text_loses_the_line_break_that_it_begins_with():
    """A browser leaves out the first one behind the mark."""
    flat = "".join(re.sub(r"{%.*?%}", "", path.read_text()) for path in TEMPLATES)
    areas = re.findall(r"<textarea[^>]*>(?:.|\n)", flat)
    assert areas
    assert [area for area in areas if not area.endswith("\n")] == []


# ---- whatever others wrote goes through the filter that lets nothing hide -------------------------------------

TOKEN = re.compile(r"({%.*?%}|{{.*?}}|{#.*?#})", re.DOTALL)
MARKUP = re.compile(r'<(/?[a-zA-Z]+)|([\w-]+)="|"|>')
# what no person, model or endpoint writes: numbers, moments, addresses and words of our own
OURS = set(
    """
    .id .pk .number .round .weight .state .place .counter .first .last .yes .no .calls .longest .short_id .seconds
    .query_string .id_for_label .html_name .field_id .word .small .took .duration .score .formula .approving .label
    .entries .kept at sign state mark number count query newer newest most_newer most opened address socket row after
    before heading caption none obligation kept_for secret search_var selection_note status words other.status
    attempt.heading block.super media.css radio.tag radio.choice_label tally.text integrity.place field.name days.name
    days.address box.tag box.choice_label made.secret token.shown_scopes ended tokens usual call.scope
    cl.counted cl.search_help_text api.info.description call.method call.path call.summary call.description one.name
    one.in one.schema.description field.description cell.mark round.cell.mark face.noun face.nouns face.going_on
    .prefix .help_text numeric placeholder alike example.key example.title kind.verb kind.good_for links.fragments
    links.replay_frames links.made made_mark list
    list_changes row.face.noun stamp.mark display.stamp.mark display.retry .no_from
    shelf.name shelf.noun shelf.about shelf.purpose item.version row.warning row.times row.when row.outcome
    row.iso row.moment row.day_and_time part.state part.x part.width group.found
    waits_for_me tab.word
    say steer withdraw asked sits.seat
    growing.retry growing.cut said.part_two claim.sign claim.side claim.answered bar.share display.stage counts
    alone.seat alone.confidence closing.seat clock.on clock.off seat.now seat.line row.count stand.lead
    wire.path wire.tip x y opinion.message curves.text curves.now curves.ahead curves.bottom curves.lines
    tick.at one.path
    came_from option.get_direction_display seat.seat version.most version.first version.reply version.call
    version.challenge version.free_floor version.advisory version.reply_within rule view origin.current.number
    id lines word one.debates one.alone one.changed one.left_first seat.called
    one.size one.label readable document.label
    rail.seat rail.dots one.pattern one.width
    a_run stay
    erasure.mark .figure .caption .flag .share .x .y .width .height .key .address place face.stays
""".split()
)
COUNTED = re.compile(r"(date|length|group_thousands|dollars|pluralize|add|slice)\b")
QUOTED = re.compile(r'(?<= )"[^"]*"')
EXPECTED = {"text": "visible", "words": "visible_text"}


class TemplatePlace:
    """Where in a page a template has got to: in its text, in words alone, or in a field or an address."""

    def __init__(self) -> None:
        self.tag = self.attribute = self.element = self.block = ""

    def read(self, html: str) -> None:
        for found in MARKUP.finditer(html):
            if self.attribute:
                self.attribute = "" if found[0] == '"' else self.attribute
            elif self.tag and found[0] == ">":
                self.tag, self.element = "", self.tag
            elif self.tag:
                self.attribute = found[2] or ""
            else:
                self.tag = found[1] or ""

    @property
    def kind(self) -> str:
        if self.attribute in ("value", "name", "href", "action") or self.element == "textarea":
            return "field"
        in_words = self.attribute or self.element in ("title", "option", "text") or self.block == "title"
        return "words" if in_words else "text"


def written(html):
    """Each expression that a template writes, and the kind of its place."""
    place = TemplatePlace()
    for token in TOKEN.split(html):
        name, *words = token[2:-2].split() if token.startswith("{") else [""]
        if token.startswith("{{"):
            yield place.kind, token[2:-2].strip()
        elif name == "firstof":
            yield from ((place.kind, word) for word in QUOTED.sub("", token[2:-2]).split()[1:])
        elif name in ("block", "endblock"):
            place.block = words[0] if name == "block" else ""
        elif not token.startswith("{"):
            place.read(token)


def is_ours(expression):
    name, *filters = expression.split("|")
    ends = {name, re.sub(r".+(?=\.)", "", name), ".".join(name.split(".")[-2:])}
    return bool(ends & OURS) or any(map(COUNTED.match, filters))


def test_nothing_hides_in_what_a_template_writes():
    forgotten = [
        (path.name, kind, expression)
        for path in TEMPLATES
        for kind, expression in written(path.read_text())
        if kind in EXPECTED and not is_ours(expression) and not expression.endswith(f"|{EXPECTED[kind]}")
    ]
    assert forgotten == []


def test_a_field_holds_what_was_written():
    marked = [
        (path.name, expression)
        for path in TEMPLATES
        for kind, expression in written(path.read_text())
        if kind == "field" and "|visible" in expression
    ]
    assert marked == []
