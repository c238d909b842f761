import pytest

from debates.models import DebateOption
from debates.page.display import display_of, fragments
from debates.page.view_model import option_styles
from debates.prompt_context import PromptPoint
from debates.responses import message_objects
from runs.record import redaction
from tests.debates.scenes import SCENES, cancelled, closing, decided, retried, silent, speaking, undecided, waiting
from tests.debates.table import Table
from tests.debates.talks import late

pytestmark = pytest.mark.django_db


@pytest.fixture
def table(mira):
    return Table(mira)


def display(table, **texts):
    return display_of(table.seen(**texts))


def test_a_debate_that_has_not_begun_is_idle(table):
    table.become("queued", started=None)
    shown = display(table)
    assert (shown.word, shown.rest) == ("Idle", "Queued. It starts when a worker is free.")
    assert {seat.look.word for seat in shown.seats} == {"None yet"}


def test_it_says_how_far_it_is_and_who_has_the_floor(table):
    table.note()
    table.say(2, verdict="HIRE", reasoning="She has led before.")
    table.speaks(4)
    shown = display(table)
    assert (shown.word, shown.lead) == ("Debating", "1 of 60 messages.")
    assert shown.rest == "1 of 5 has a verdict. Hana Kubo was drawn and has the floor."
    assert [seat.now for seat in shown.seats] == ["", "", "", "Speaking", ""]


PLATES = {"asked_alone": "Debating", "waiting": "Waiting", "closing": "Closing", "decided": "HIRE"}
PLATES |= {"queued": "Idle", "undecided": "No decision", "failed": "Error", "cancelled": "Cancelled"}


@pytest.mark.parametrize("name", SCENES)
def test_every_part_of_every_scene_is_drawn_of_what_was_read(name, mira, django_assert_num_queries):
    """Pages that are open already are drawn where no question can be asked of the database."""
    seen = SCENES[name](mira).seen()
    with django_assert_num_queries(0):
        shown = display_of(seen)
        parts = list(fragments(shown))
    assert shown.word == PLATES.get(name, shown.word)
    assert len({part.place for part in parts}) == len(parts)
    for part in parts:
        if part.name not in ("actions", "verdict_meta"):  # these lead to other pages
            assert part.html().startswith("<")


def test_a_number_stands_where_options_look_alike():
    ways = ("for", "for", "between", "against")
    options = [DebateOption(word=f"{number}", direction=way) for number, way in enumerate(ways)]
    looks = option_styles(options)
    assert [(looks[word].state, looks[word].sign, looks[word].number) for word in "0123"] == [
        ("approve", "", 1), ("approve", "", 2), ("mid", "", 3), ("reject", "cross", None),
    ]  # fmt: skip


def test_where_they_stand_names_everybody(mira):
    rows = display(late(mira)).stand.rows
    assert [(row.look.word, row.count, row.who) for row in rows] == [
        ("HIRE", 3, "Ilse Brandt, Rajiv Menon, Hana Kubo"),
        ("HIRE ON CONDITIONS", 1, "Amara Osei"),
        ("DO NOT HIRE", 1, "Tomás Rey (withdrawn)"),
    ]


def test_what_it_would_come_to_now_is_said(table):
    table.note()
    shown = display(table)
    assert (shown.stand.lead, shown.stand.rest) == (
        "Majority of all 5:", "an option needs 3. Who has no verdict at the end counts for none.",
    )  # fmt: skip


def test_who_has_the_floor_answers_whoever_asked(mira):
    shown = display(speaking(mira))
    assert shown.rest.endswith("Hana Kubo answers Rajiv Menon.")
    assert (shown.seats[3].now, len(shown.wires.now)) == ("Speaking", 1)


def test_the_growing_words_stand_in_the_place_after_the_last_message(mira):
    table = speaking(mira)
    step = table.opened.step
    [*before, floor] = display(table, **{step.replace("-", "_"): "Rajiv, one last"}).slots
    assert (floor.growing.words, floor.growing.to) == ("Rajiv, one last", "to Rajiv Menon")
    assert not any(slot.growing for slot in before)
    assert [slot.settled for slot in before[-2:]] == [True, False]


def test_a_retry_is_counted_at_the_seat(mira):
    shown = display(retried(mira))
    seat = shown.seats[3]
    assert (seat.now, seat.until is not None) == ("Retry 2 of 2", True)
    assert shown.announcement == "Hana Kubo did not answer. Retry 2 of 2."
    assert shown.slots[-1].growing.words.startswith("No answer within 60 s. It is asked again;")


def test_who_could_not_speak_three_times_is_silent(mira):
    shown = display(silent(mira))
    assert (shown.seats[3].line, shown.seats[3].look.state, shown.seats[3].out) == ("Silent", "failed", True)
    assert "one has fallen silent" in shown.rest
    said = [event.text for slot in shown.slots for event in slot.events]
    assert said == ["could not speak: 401 The key was refused."] * 3


def test_a_person_is_waited_for(mira):
    shown = display(waiting(mira))
    assert (shown.lead, shown.seats[3].now) == ("For Elin Sato,", "Has the floor")
    assert shown.rest == "until 22 Nov, 14:01 UTC. Nothing runs and nothing is spent meanwhile."


def test_nobody_sees_what_was_said_alone_while_a_person_may_be_swayed(mira):
    table = waiting(mira)
    table.alone(1, "HIRE", "Nobody may read this yet.")
    before = display(table)
    assert {rail.alone for rail in before.rails} == {None}
    assert all(alone.hidden for alone in before.alone)
    table.become("cancelled")
    assert display(table).alone[0].words == "Nobody may read this yet."


def test_a_change_is_drawn_marked_and_said(mira):
    shown = display(late(mira))
    last = shown.changes[-1]
    assert (last.name, last.before.word, last.look.word) == ("Rajiv Menon", "HIRE ON CONDITIONS", "HIRE")
    assert last.sentence == f"Named message {last.number - 1} of Ilse Brandt."
    assert [one.state for one in shown.rails[2].stretches] == ["mid", "approve"]
    assert len(shown.curves.curves) == 3


def test_a_message_shows_its_points_by_their_numbers(mira):
    said = next(slot.said for slot in display(late(mira)).slots if slot.said and slot.said.artifact)
    [claim] = said.claims
    assert (claim.number, claim.sign, claim.source) == (f"{said.number}.1", "+", "A3:19")
    assert [(bar.label, bar.share) for bar in said.artifact.bars] == [
        ("Consent", 100),
        ("Cleaning", 40),
        ("Upload", 20),
    ]


def test_how_a_message_came_about_is_marked(table):
    table.note()
    first = table.say(2, calls=[1, 2], cut=True)
    table.say(2, "And the rest of it.", continues=first.number)
    [whole, rest] = [slot.said for slot in display(table).slots if slot.said]
    assert (whole.marks, rest.part_two) == (("in two answers", "cut"), first.number)


def test_a_message_that_says_what_was_said_is_marked_as_a_repetition(table):
    table.note()
    first, _, again = table.say(1, "She led it well."), table.say(2, "She did not."), table.say(3, "She led it  well!")
    said = [slot.said for slot in display(table).slots if slot.said]
    assert [one.marks for one in said] == [(), (), (f"repeats message {first.number}, word for word",)]
    told = message_objects(table.seen().row)
    assert {one["number"]: one["repeats"] for one in told}[again.number] == first.number


def test_the_chair_is_no_member(mira):
    slots = display(late(mira)).slots
    said = next(slot.said for slot in slots if slot.said and slot.said.person)
    assert (said.name, said.look, said.to) == ("M. Okafor, chair", None, "to Amara Osei")


def test_what_was_cut_off_by_a_cancellation_is_struck(mira):
    table = cancelled(mira)
    text = {table.opened.step.replace("-", "_"): "Whoever runs two"}
    growing = display(table, **text).slots[-1].growing
    assert (growing.words, growing.cut) == ("Whoever runs two", "Not said: it was cancelled.")


def test_last_words_grow_side_by_side(mira):
    shown = display(closing(mira))
    assert [bool(one.growing) for one in shown.closings] == [True, True, True, False, False]
    assert (shown.stage, shown.lead, shown.rest) == ("closing", "Closed by the chair.", "1 of 4 last words said.")


def test_the_end_says_what_came_of_it_and_why(mira):
    shown = display(decided(mira))
    assert (shown.state, shown.word, shown.lead) == ("approve", "HIRE", "3 of 5 by majority of all.")
    assert shown.rest == "Closed by the chair, after 46 messages."
    assert [opinion.name for opinion in shown.ending.minority] == ["Amara Osei", "Tomás Rey"]
    assert {figure.name: figure.number for figure in shown.ending.figures}["Swayed"] == "2 of 5"


def test_where_nothing_was_decided_it_says_why(mira):
    shown = display(undecided(mira))
    assert (shown.state, shown.word, shown.lead) == (
        "none",
        "No decision",
        "HIRE ON CONDITIONS has 2 of 5, and 3 are needed.",
    )
    assert not shown.ending.decided


def test_a_redacted_debate_shows_no_word_of_it(mira):
    table = decided(mira)
    redaction.redact_run(table.pk, "reviewer", "By request.")
    shown = display(table)
    html = "".join(part.html() for part in fragments(shown))
    assert "Supervision" not in html
    assert "The 2023 study" not in html
    assert "Erased." in html


def test_words_of_others_are_escaped_and_show_what_they_hide(table):
    table.note()
    table.say(1, "<img src=x onerror=alert(1)>\u202e", points=(PromptPoint("<b>bold</b>", "HIRE", "for"),))
    html = next(part.html() for part in fragments(display(table)) if part.place == "msg-2")
    assert "<img" not in html
    assert "<b>bold" not in html
    assert "unseen" in html
