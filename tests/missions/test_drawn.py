"""What programs draw: the screens that people would see, and tmux beside them."""

import json
import os
import signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from missions.terminals import drawn
from missions.terminals.drawn import LivingScreen, lines_of, picture, text_of_command
from missions.terminals.emulator import LONGEST_SIGN, Emulator
from missions.terminals.keys import of_key, of_text
from missions.terminals.output_spool import SupervisorReply
from missions.terminals.wait_detection import InputWait
from missions.tools.commands import output_since
from tests.conftest import need
from tests.missions.commands import becomes, ended, keeper_of, until
from tests.missions.panes import Panes, missing
from tests.waiting import wait_until

ESC, UP, DOWN = (of_key(name, application=True) for name in ("esc", "up", "down"))
BARS = (
    r"printf 'one 0%%\ntwo 0%%\n'; for n in 30 60 100; do printf '\033[2Aone %s%%\033[K\ntwo %s%%\033[K\n' $n $n; done"
)
STATUS = r"printf '\0337\033[40;1H\033[7mat %s\033[m\0338line %s\n' $n $n"
REGION = rf"printf '\033[2J\033[1;39r'; for n in $(seq 60); do {STATUS}; done"
# each: a command, and what is typed once the screen has this text; the last text is waited for
PROGRAMS = {
    "vim": ("vi -u NONE new.txt", ("~", "ihello\r漢字 wide" + ESC + "yyp"), "漢字 wide\n漢字 wide"),
    "less": ("less long.txt", ("line 9", " "), ("line 40", "/line 123\r"), "line 123"),
    "top": ("top -d 0.3", "load average"),
    "bars": (f"{BARS}; read x", "two 100%"),
    "question": ("read -p 'Name? ' name; read -p \"Is it $name? \" x", ("Name?", "Ada\n"), "Is it Ada?"),
    "secret": ("echo first; read -s -p 'Word? ' x", "Word?"),
    "python": ("python3 -q -i", (">>>", "for x in (1, 2):\r  print(x * 21)\r\r"), ("42\n>>>", UP), ">>>   print(x"),
    "status line": (f"{REGION}; read x", "at 60"),
}  # fmt: skip
MORE = {
    "nano": ("nano new2.txt", ("Help", "hello\rworld" + of_key("ctrl-o", application=True)), "File Name to Write"),
    "htop": ("htop -d 5", ("Load average", DOWN), "F10"),
    "vim with all that is usual": (
        *("vim -u DEFAULTS long.txt", ("line 9", of_key("page-down", application=True) + ":set nu\r10jdd")),
        ("49 line", ":split\r:vsplit\r"),
        "long.txt [+]",
    ),
    "a debugger": ("gdb -q /bin/true", ("(gdb)", "print 6 * 7\r"), "$1 = 42"),
}


def compared(workshop, programs, panes):
    """Those of which the screen, or the place of the cursor, is not that of tmux after the same bytes."""
    (workshop.workspace / "long.txt").write_text("\n".join(f"line {n} with 漢字 and é" for n in range(300)))
    spools = {name: workshop.begin(said[0]) for name, said in programs.items()}
    wrong = {}
    for name, (_, *steps) in programs.items():
        spool = spools[name]
        for number, one in enumerate(steps, 1):
            text, typed = one if isinstance(one, tuple) else (one, "")
            wait_until(lambda spool=spool, text=text: text in picture(spool).text, f"{name}: {text!r}", 30)
            assert not typed or spool.type(number, typed.encode())
        said = spool.said().data
        screen = Emulator()
        for place in range(0, len(said), 7):
            screen.feed(said[place : place + 7])
        ours = "\n".join("".join(text for text, _ in row).rstrip() for row in screen.rows).rstrip("\n")
        theirs = panes.replayed(name.replace(" ", "-"), said)
        if (ours, screen.place) != (theirs, panes.cursor(name.replace(" ", "-"))):
            wrong[name] = ours, theirs
        os.kill(keeper_of(spool), signal.SIGKILL)  # sooner than whatever it runs would obey
    return wrong


@pytest.fixture
def panes(tmp_path):
    made = Panes(tmp_path)
    yield made
    made.close()


def test_screens_are_those_of_tmux(workshop, request):
    need("screens", not missing("vi", "less", "top"), missing("vi", "less", "top"))
    assert compared(workshop, PROGRAMS, request.getfixturevalue("panes")) == {}


@pytest.mark.slow
def test_more_screens_are_those_of_tmux(workshop, request):
    there = {name: one for name, one in MORE.items() if not missing(one[0].split()[0])}
    need("screens", bool(there), missing("nano", "htop", "vim", "gdb"))
    assert compared(workshop, there, request.getfixturevalue("panes")) == {}


AS_TMUX = {  # found by `tests.missions.random_screens`
    b"\x0edefgh": ("defgh", (0, 5)),
    b"ab\x1b[?1049h\x1b[3;3Hx\x1b[?1047l": ("ab", (2, 3)),
    b"ab\x1b[?1049h\x1b[?47l\x1b[4;4H\x1b[?1049l": ("ab", (0, 2)),
    b"\x1b[1;2r\x1b[2H\x1b[?1049h\n": ("", (1, 0)),
    b"\x1b[4;5r\x1b[?6h\x1b8": ("", (0, 0)),
    b"a\x1b[2@\x1b[3b": ("a", (0, 1)),
    b"x\x1b[3b\x1b[2b": ("xxxx", (0, 4)),
    b"0123456789\x1b[3b": ("0123456789", (0, 9)),
    b"\x1b[1;10H\x1b[?7lx\x1b[?7ha": ("         a", (0, 9)),
    b"\x1b[?7l\x1b[1;10H" + "漢".encode(): ("", (0, 9)),
}


def test_screens_and_cursors_are_those_of_tmux_where_both_differed_before():
    wrong = {}
    for said, shown in AS_TMUX.items():
        screen = Emulator(5, 10)
        screen.feed(said)
        text = "\n".join("".join(text for text, _ in row).rstrip() for row in screen.rows).rstrip("\n")
        if (text, screen.place) != shown:
            wrong[said] = text, screen.place
    assert wrong == {}


def test_an_agent_is_shown_a_screen_with_its_cursor_and_lines_of_what_only_prints(workshop):
    draws = workshop.begin(r"printf '\033[?1049h\033[2;5Hmenu'; read -rsn1")
    prints = workshop.begin("echo one; read x")
    for spool, state in ((draws, InputWait.FULL_SCREEN), (prints, InputWait.ASKS)):
        becomes(spool, state)
    facts, _, text = output_since(1, draws, "command_status").partition("\n")
    shown = json.loads(facts)
    assert (text, shown["rows"], shown["columns"]) == ("\n    menu", 40, 120)
    assert shown["cursor"] == {"row": 2, "column": 9, "shown": True}
    assert "cursor" not in output_since(2, prints, "command_status")


def test_another_size_of_its_window_is_told_to_a_program_and_holds_for_whoever_looks(workshop):
    spool = workshop.begin("trap 'stty size' WINCH; echo begun; while :; do read -t 0.05 x; done")
    until(lambda: "begun" in picture(spool).text)
    assert (spool.resize(20, 60), spool.resize(4, 60), spool.resize(20, 999)) == (True, False, False)
    until(lambda: "20 60" in picture(spool).text)
    assert spool.type(1, of_key("ctrl-c", application=False).encode())
    later = LivingScreen(spool).look(at_once=True)
    assert (len(later.rows), later.columns, spool.sizes[0][1:]) == (20, 60, (20, 60))
    assert ended(spool)["code"] != 0


def test_bars_in_several_lines_end_as_they_look_and_long_lines_stay_whole(workshop):
    long = "x" * 300
    spool = workshop.begin(f"echo {long}; {BARS}; echo {long}")
    ended(spool)
    assert text_of_command(spool) == f"{long}\none 100%\ntwo 100%\n{long}\n"


def test_what_was_cleared_away_is_still_among_its_lines():
    said = b"first\r\n\x1b[H\x1b[2J\x1b[3Jsecond\r\n\x1b[?1049h\x1b[Heditor\x1b[?1049lthird"
    assert [line.text for line in lines_of(said)] == ["first", "second", "third"]


def test_of_a_flood_what_holds_on_and_its_end_are_drawn(monkeypatch, tmp_path):
    said = b"\x1b[?1049h\x1b[?25l" + b"\x1b[Hno\r\n" * 2_000 + b"\x1b[2Jlast"
    monkeypatch.setattr(drawn, "MOST_DRAWN", 1_000)

    class Spool:
        sizes = ()

        def said(self, start=0, most=100_000):
            return SupervisorReply(start, said[start:][:most], len(said))

    shown = LivingScreen(Spool()).look(at_once=True)
    assert (shown.alternate, shown.has_cursor, shown.text.strip()) == (True, False, "last")


FLOODS = [b"\x1b[2J", b"a\x1b[99999b", b"\x1b7", b"\x1b]0;", b"\x1b[9999S", b"\x1b[1" + b"1" * 9_000, b"\xff"]
FLOODS += [b"\x1b[?1049h", b"\x1b[4hx", b"\x1b[9999L", b"\x1b[9999@", b"x" * 9_000, b"\x1b[7m\x1b[K\r\n", b"a\xcc\x81"]
FLOODS += [b"\xcc\x81"]


def test_tabs_are_not_taken_one_by_one_and_no_cell_of_an_erased_row_is_looked_at(monkeypatch):
    monkeypatch.setattr(Emulator, "tab", lambda _: pytest.fail("one by one"))
    shown = Emulator(5, 20)
    shown.feed(b"\x1b[2I")
    assert shown.place == (0, 16)
    shown.feed(b"\x1b[9999I\x1b[41m\x1b[2J")
    assert shown.place == (0, 19)
    assert shown.rows == [((" " * 20, "reverse"),)] * 5
    assert dict(shown.buffer[0]) == {}


def test_no_flood_makes_it_grow():
    for said in FLOODS:
        screen = Emulator(10, 20, kept=5)
        screen.feed(said * (9_000 // len(said)))
        cells = [cell.data for row in screen.buffer.values() for cell in row.values()]
        assert (len(screen.above) <= 5, len(cells) <= 10 * 20) == (True, True), said
        assert max(map(len, cells), default=0) <= LONGEST_SIGN, said


PARTS = [
    b"a",
    "漢".encode(),
    "é".encode(),
    b"\r",
    b"\n",
    b"\t",
    b"\b",
    b"\x1b[31m",
    b"\x1b[K",
    b"\x1b]0;t\x07",
    b"\x1b[2A",
]
PARTS += [
    b"\x1b[?6h",
    b"\x1b[4d",
    b"\x1b[4h",
    b"\x1b[?7l",
    b"\x1b[9b",
    b"\x1b[2P",
    b"\x1b[2@",
    b"\x1b[S",
    b"\x1b[g",
    b"\x1bc",
]
PARTS += [
    b"\x1b[3;4H",
    b"\x1b[J",
    b"\x1b[2L",
    b"\x1b[M",
    b"\x1b[?1049h",
    b"\x1b[?1049l",
    b"\x1b7",
    b"\x1b8",
    b"\x1b[2;4r",
]


@settings(max_examples=25)
@given(st.lists(st.sampled_from(PARTS), max_size=25))
def test_it_does_not_matter_where_it_is_cut(said):
    whole, cut = Emulator(5, 10), Emulator(5, 10)
    whole.feed(b"".join(said))
    for place in range(len(b"".join(said))):
        cut.feed(b"".join(said)[place : place + 1])
    assert (whole.rows, whole.place) == (cut.rows, cut.place)


@settings(max_examples=25)
@given(st.lists(st.one_of(st.binary(max_size=20), st.sampled_from(PARTS)), max_size=30))
def test_whatever_is_said_the_screen_holds_signs_that_can_be_printed_and_its_cursor(said):
    screen = Emulator(5, 10)
    screen.feed(b"".join(said))
    row, column = screen.place
    assert (0 <= row < 5, 0 <= column < 10) == (True, True)
    signs = [sign for pieces in screen.rows for text, _ in pieces for sign in text]
    assert all(sign.isprintable() or sign == "�" for sign in signs)


def test_what_is_typed_is_sent_as_the_program_reads_it():
    assert of_text("a\nb", by_lines=True) == "a\nb"
    assert of_text("a\n\x1b[201~b", by_lines=False, pasted=True) == "\x1b[200~a\rb\x1b[201~"
    assert (of_key("up", application=False), of_key("up", application=True)) == ("\x1b[A", "\x1bOA")
    assert (of_key("ctrl-c", application=True), of_key("f5", application=True)) == ("\x03", "\x1b[15~")
