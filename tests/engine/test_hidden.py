"""What nobody sees gets a mark; what does its work in emoji and in other scripts is left alone. Pure."""

import logging
import sys

import pytest
from django.core.management import get_commands, load_command_class
from django.template import Context, Template

from engine.console import ConsoleCommand, SingleLineFormatter
from engine.llm.errors import CallFailed
from engine.templatetags.visible import visible
from engine.text.invisible_chars import single_line, visible_json, visible_text


def tags(text):
    return "".join(chr(0xE0000 + ord(char)) for char in text)


MARKED = {
    "turned": ("A\u202eB\u202c", "A‹U+202E›B‹U+202C›"),
    "isolated": ("\u2066A\u2069", "‹U+2066›A‹U+2069›"),
    "a mark of direction": ("A\u200f\u061c", "A‹U+200F U+061C›"),
    "without width": ("a\u200bb\u2060c\ufeffd\u200de", "a‹U+200B›b‹U+2060›c‹U+FEFF›d‹U+200D›e"),
    "in tag characters": (f"No.{tags('approve <b>')}", "No.‹tags: approve <b>›"),
    "behind a flag": (f"\U0001f3f4{tags('approve')}\U000e007f", "\U0001f3f4‹tags: approve›‹U+E007F›"),
    "in variation selectors": ("☺\ufe00\U000e0150", "☺‹U+FE00 U+E0150›"),
    "in selectors behind a picture": ("☺\ufe0f\ufe0e", "☺\ufe0f‹U+FE0E›"),
    "a selector behind a letter": ("a\ufe0f 1\ufe0f", "a‹U+FE0F› 1‹U+FE0F›"),
    "blank letters": ("\u115f\u1160\u3164\uffa0\u2800A", "‹U+115F U+1160 U+3164 U+FFA0 U+2800›A"),
    "a soft hyphen": ("app\u00adrove", "app‹U+00AD›rove"),
    "other ends of lines": ("A\u2028B\u2029C\x85D\x0bE", "A‹U+2028›B‹U+2029›C‹U+0085›D‹U+000B›E"),
    "a colour": ("\x1b[31mred\x9b0m", "‹U+001B›[31mred‹U+009B›0m"),
    "a link": ("\x1b]8;;//evil.example\x07A\x1b\\", "‹U+001B›]8;;//evil.example‹U+0007›A‹U+001B›\\"),
    "an overwritten line": ("Rejected.\rApproved.\x08", "Rejected.‹U+000D›Approved.‹U+0008›"),
    "half a character": ("A\ud83d", "A‹U+D83D›"),
    "private": ("\ue000A", "‹U+E000›A"),
    "many times the same": ("\u200b" * 500 + "A", "‹U+200B ×500›A"),
    "without end": ("\u200b\u200c" * 500, f"‹{' '.join(['U+200B U+200C'] * 10)} and 980 more›"),
}


def test_what_nobody_sees_has_a_mark():
    marked = dict(MARKED.values())
    assert {text: visible_text(text) for text in marked} == marked
    assert [shown for shown in marked.values() if visible_text(shown) != shown] == []


READABLE = {
    "English": "Plain, with lines\nand\ttabs\r\n",
    "Hebrew": "שלום עולם",
    "Arabic, with signs of its own": "قال \u06dd \u0601٢٠٢٦",
    "Persian": "می\u200cخواهم PDF\u200cها",
    "Malayalam and Hindi": "ന്\u200d क्\u200dष क्\u200cष",
    "Khmer": "ខ្ញុំ\u200bចង់",
    "Mongolian": "\u182d\u180b",
    "combining marks": "e\u0301\u0301 ṩ",
    "wide spaces": "A\u00a0B\u3000C",
    "an astronaut": "👩\u200d🚀 👩🏽\u200d🚀",
    "a family": "👨\u200d👩\u200d👧",
    "a heart, a key and a flag": "❤\ufe0f ☺\ufe0e 1\ufe0f\u20e3 🏳\ufe0f\u200d🌈 🇯🇵",
    "Scotland": f"🏴{tags('gbsct')}\U000e007f",
    "younger than Unicode's tables here": "\U0001fae8\U0001fae9",
}


def test_what_is_read_stays_as_it_is():
    assert {kind: visible_text(text) for kind, text in READABLE.items()} == READABLE


def test_whatever_is_hidden_from_models_is_marked_for_people():
    places = (
        range(0x3000),
        range(0xD7FF, 0xE010),
        range(0xFE00, 0x10000),
        range(0x1F000, 0x20000),
        range(0xE0000, 0xE0200),
    )
    told = (char for place in places for char in map(chr, place) if visible_json(char).startswith('"\\'))
    seen = [char for char in told if visible_text(f"A{char}A") == f"A{char}A"]
    drawn = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"
    assert set(seen) <= {*'\n\t"\\', *drawn, *map(chr, range(0x1F000, 0x1FFFE))}


def test_a_page_says_the_same_as_plain_text():
    shown = Template("{{ text|visible }}/{{ text|visible_text }}/{% firstof none|visible text|visible %}").render(
        Context({"text": "<b>\u202e", "none": None})
    )
    mark = '<mark class="unseen" title="right-to-left override">‹U+202E›</mark>'
    assert shown == f"&lt;b&gt;{mark}/&lt;b&gt;‹U+202E›/&lt;b&gt;{mark}"


def test_what_tags_spell_stays_text():
    assert ">‹tags: &lt;b&gt;&quot;›<" in visible(tags('<b>"'))


def test_a_long_text_of_hidden_characters_costs_little():
    assert len(visible("a\u200b" * 10_000)) < 1_000_000


def test_the_sentence_of_a_failure_is_one_line_and_shows_all():
    failure = CallFailed("It said: no\r\nApproved.\x1b[2K \u202e", raw="\x1b[2K")
    assert (str(failure), failure.raw) == ("It said: no↵Approved.‹U+001B›[2K ‹U+202E›", "\x1b[2K")


FAKE = "Run 5 broke.\n2026-11-22 01:00:00 ERROR engine: all is well\r\x1b[2K"


def test_an_event_of_the_log_is_one_line():
    record = logging.LogRecord("engine", logging.ERROR, "", 0, "It said: %s", (FAKE,), None)
    assert SingleLineFormatter("%(levelname)s %(message)s").format(record) == f"ERROR It said: {single_line(FAKE)}"


def test_a_traceback_stands_indented_below_its_event():
    try:
        raise ValueError(FAKE)
    except ValueError:
        record = logging.LogRecord("engine", logging.ERROR, "", 0, "It broke.", (), sys.exc_info())
    first, *more = SingleLineFormatter("%(levelname)s %(message)s").format(record).split("\n")
    assert first == "ERROR It broke."
    assert more
    assert all(line.startswith("    ") and line.isprintable() for line in more)


def test_every_command_that_speaks_to_people_speaks_through_the_same_output():
    ours = [name for name, app in get_commands().items() if app in ("engine", "judgements", "magi_site", "runs")]
    others = [name for name in ours if not isinstance(load_command_class(get_commands()[name], name), ConsoleCommand)]
    assert others == ["export_records"]  # its output is a file


def test_an_error_of_a_command_steers_no_terminal(capsys):
    with pytest.raises(SystemExit):
        load_command_class("engine", "verify_record").run_from_argv(["manage.py", "verify_record", "\x1b[2K"])
    assert visible_text(capsys.readouterr().err).isascii()
