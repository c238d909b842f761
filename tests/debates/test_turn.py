"""What a person on a seat says on the live page, in its turn."""

import json
import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from debates.attachments import from_text
from debates.history import debate_summaries, prefetch_for_list, prefetch_for_table, table_columns
from debates.models import Debate, DebateMessage, DebateTurn, writes
from debates.models.visibility import hides_first_verdicts, withheld_runs
from debates.page.context import page_context
from debates.record.xml_export import render_debate_xml
from debates.spec import DebateSpec
from engine.models import Document, Gate, GateDecision, Run
from runs.history.query import RunHistory
from runs.run_object import run_object

from .scenes import last_words, waiting
from .table import Table

pytestmark = pytest.mark.django_db

CLOSING = {"p1-claim": None}
SAID = {"content": "The workshop can run both of them until September.", "to": "Rajiv Menon", "verdict": ""}


@pytest.fixture
def elin(mira: User) -> User:
    return User.objects.create_user("elin")


@pytest.fixture
def table(mira: User, elin: User) -> Table:
    return waiting(mira, elin)


@pytest.fixture
def seat(elin: User) -> Client:
    """A browser of its own: `page` is the chair's."""
    own = Client()
    own.force_login(elin)
    return own


def live(page: Client, table: Table):
    return page.get(reverse("debate-live", args=[table.pk])).content.decode()


def send(page: Client, table: Table, headers=None, **typed: str | None):
    gate = Gate.objects.get(run=table.pk)
    address = reverse("debate-turn", args=[table.pk])
    sent = {"gate": gate.pk, "said": "speak", "p1-claim": "", **SAID, **typed}
    return page.post(address, {name: text for name, text in sent.items() if text is not None}, headers=headers)


def found(user: User, **sought: str) -> list[str]:
    return [row.title for row in RunHistory(user, sought).page().rows]


def newest(table: Table) -> DebateMessage:
    return DebateMessage.objects.filter(debate=table.pk).order_by("-number")[0]


def test_whoever_has_the_floor_finds_a_form_that_answers_whoever_asked(seat: Client, table: Table):
    html = live(seat, table)
    assert "Your turn, Elin Sato" in html
    assert 'name="to" value="Rajiv Menon" checked' in html


def test_others_see_who_is_waited_for_and_no_form(page: Client, table: Table):
    html = live(page, table)
    assert "Waiting for Elin Sato" in html
    assert "Your turn" not in html


def test_what_is_said_is_a_message_like_any_other(seat: Client, table: Table):
    answer = send(seat, table, verdict="DO NOT HIRE", verdict_reasoning="Nobody is named.\r\nI asked twice.")
    assert (answer.status_code, answer.url) == (302, reverse("debate-live", args=[table.pk]))
    said = newest(table)
    assert (said.content, said.speaking_to, said.reasoning) == (
        SAID["content"],
        [3],
        "Nobody is named.\nI asked twice.",
    )
    assert "Your turn" not in live(seat, table)


def test_all_that_the_api_takes_can_be_said_on_the_page(seat: Client, table: Table):
    Document.objects.attach(Run.objects.get(pk=table.pk), [from_text("CV", "A name.\nTwo years at CERN.")])
    point = {"p1-claim": "It was tried before.", "p1-side": "against", "p1-option": "HIRE", "p1-document": "A1"}
    drawn = {
        "artifact-kind": "bars",
        "artifact-title": "Months",
        "artifact-text": "Who | Months\n---|---\n| She | 12 |",
    }
    moved = {"verdict": "DO NOT HIRE", "verdict_reasoning": "Nobody is named.", "moved_by": "3"}
    answer = send(seat, table, to=["Rajiv Menon", "Amara Osei"], **point, **{"p1-line": "2"}, **drawn, **moved)
    assert answer.status_code == 302
    said = newest(table)
    points = list(said.points.values_list("claim", "side", "document", "line"))
    assert points == [("It was tried before.", "against", "A1", 2)]
    artifact = {"title": "Months", "kind": "bars", "columns": ["Who", "Months"], "rows": [["She", "12"]]}
    assert json.loads(said.artifact).items() >= artifact.items()
    assert (len(said.speaking_to), said.moved_by) == (2, [3])


def test_no_word_of_a_machine_reaches_whoever_types(seat: Client, table: Table):
    typed = {"verdict": "DO NOT HIRE", "verdict_reasoning": "", "moved_by": "999"}
    said = send(seat, table, **typed).content.decode().partition('role="alert"')[2].partition("</div>")[0]
    assert "Say why, in two words or more." in said
    assert "only such can have moved you." in said
    assert "_" not in said.replace("mine__line", "")


def test_a_line_that_a_document_does_not_have_is_refused_with_its_number(seat: Client, table: Table):
    typed = {"p2-claim": "It was tried before.", "p2-side": "for", "p2-option": "HIRE", "p2-document": "A1"}
    for line in ("999", "first"):
        assert send(seat, table, **typed, **{"p2-line": line}).status_code == 422


def test_a_turn_that_is_answered_in_two_tabs_is_one_message(seat: Client, table: Table):
    before = table.newest
    first, second = (send(seat, table, {"HX-Request": "true"}, content=f"Words of tab {tab}.") for tab in "12")
    assert (first.status_code, second.status_code, table.newest) == (200, 409, before + 1)
    assert "Nothing is left to decide." in second.content.decode()
    assert "Words of tab 2." in second.content.decode()


def test_a_turn_is_skipped_without_a_word(seat: Client, table: Table):
    assert send(seat, table, said="skip", content="").status_code == 302
    assert DebateTurn.objects.filter(debate=table.pk).latest("number").reason_skipped == "Elin Sato skipped the turn."


TYPED = (
    "Not yet, I think.",
    '<option value="HIRE" selected>',
    'name="to" value="Amara Osei" checked',
    'value="Nobody else has run it."',
    "\nBeds | 12</textarea>",
    'name="withdrawn" value="on"\n   checked',
)


def test_what_does_not_fit_comes_back_as_it_was_typed(seat: Client, table: Table):
    typed = {"content": "Not yet, I think.", "verdict": "HIRE", "to": "Amara Osei", "withdrawn": "on"}
    typed |= {"p1-claim": "Nobody else has run it.", "artifact-text": "Beds | 12"}
    for headers in (None, {"HX-Request": "true"}):
        answer = send(seat, table, headers, **typed)
        assert answer.status_code == 422
        assert [text for text in TYPED if text not in answer.content.decode()] == []
    assert "Write what you want to say, or skip your turn." in send(seat, table, content=" ").content.decode()
    assert Gate.objects.get(run=table.pk).pending


def test_nobody_else_speaks_in_its_place(page: Client, client: Client, noor: User, table: Table):
    assert send(page, table).status_code == 403
    client.force_login(noor)
    assert send(client, table).status_code == 404


def test_a_turn_that_is_not_there_cannot_be_answered(seat: Client, table: Table):
    assert {send(seat, table, gate=gate).status_code for gate in ("", "x", "99", "9" * 30)} == {404}


def test_a_page_that_is_told_of_a_turn_asks_for_its_form_alone(seat: Client, table: Table):
    address = reverse("debate-turn", args=[table.pk])
    html = seat.get(address, headers={"HX-Request": "true"}).content.decode()
    assert html.strip().startswith("<form")
    assert "<html" not in html
    assert seat.get(address).url == reverse("debate-live", args=[table.pk])


def test_all_pages_are_told_whose_turn_it_is_and_none_what_is_typed(seat: Client, page: Client, table: Table):
    html = page.get(reverse("debate-fragments", args=[table.pk])).content.decode()
    turn = DebateTurn.objects.filter(debate=table.pk).latest("number").number
    assert f'data-turns="4:{turn}"' in html
    assert html == seat.get(reverse("debate-fragments", args=[table.pk])).content.decode()


def test_a_last_word_goes_to_all(mira: User, elin: User, seat: Client):
    table = last_words(mira, elin)
    form = live(seat, table).partition('id="mine"')[2].partition("</form>")[0]
    assert ("Your last word, Elin Sato" in form, 'name="to"' in form) == (True, False)
    stated = {"verdict": "HIRE", "verdict_reasoning": "Rajiv has named a deputy."}
    assert send(seat, table, content="Then we can do it.", to=None, **stated, **CLOSING).status_code == 302
    said = table.debate.messages.get(member__user=elin, kind="closing")
    assert (said.content, said.number) == ("Then we can do it.", 20)  # by its seat, between the others


LAST = "I stand by what I said."


def told_of(table: Table, page: Client) -> list[str]:
    """Wherever words of a debate are read."""
    record = page.get(reverse("debate-record", args=[table.pk])).content.decode()
    return [
        live(page, table),
        record,
        json.dumps(run_object(table.row, "https://magi.example")),
        render_debate_xml(table.row),
    ]


def stands(table: Table) -> tuple[int, str]:
    """Of how many a list and a table say what they stand by."""
    glance = debate_summaries(prefetch_for_list(Debate.objects.filter(pk=table.pk)))[table.pk]
    verdicts = table_columns(prefetch_for_table().get(pk=table.pk))[1][4]
    return sum(seat.look.word == "HIRE" for seat in glance.seats), verdicts


def test_who_has_a_last_word_to_say_is_told_nobody_elses(mira: User, elin: User, seat: Client):
    table = last_words(mira, elin)
    before = stands(table)
    assert not [text for text in told_of(table, seat) if LAST in text]
    assert [found(mira, q=words) for words in ("stand by what", LAST)] == [[], []]
    send(
        seat,
        table,
        content="Then we can do it.",
        to=None,
        verdict="HIRE",
        verdict_reasoning="Rajiv has a deputy.",
        **CLOSING,
    )
    assert [LAST in text for text in told_of(table, seat)] == [True] * 4
    assert stands(table) != before
    table.end()
    assert found(mira, q=LAST) == found(mira, q="then we can do it") == [table.row.run.title]


def test_last_words_do_not_grow_where_a_person_still_has_one(mira: User, elin: User):
    table = last_words(mira, elin)
    turn = DebateTurn.objects.filter(debate=table.pk, why="closing")[0]
    assert page_context(table.seen(**{turn.step.replace("-", "_"): LAST, "note_4": "Time."})).texts == {
        "note-4": "Time."
    }
    assert not [call for call in DebateSpec().calls_shown(table.row, table.row.calls) if call.step == turn.step]
    writes.save_skip(table.pk, DebateTurn.objects.get(debate=table.pk, state="open").number, "was not there")
    assert page_context(table.seen(**{turn.step.replace("-", "_"): LAST})).texts == {turn.step: LAST}


def test_last_words_of_a_debate_that_goes_on_no_more_are_shown(mira: User, elin: User):
    table = last_words(mira, elin)
    for status, shown in (("failed", False), ("cancelled", True)):
        table.become(status)
        assert (LAST in render_debate_xml(table.row), len(table.row.shown_state.messages) == table.newest) == (
            shown,
            shown,
        )


def test_whoever_sits_there_may_leave_and_nobody_else_is_offered_to(seat: Client, page: Client, table: Table):
    html = live(seat, table)
    assert 'aria-label="Leave the debate"' in html
    assert html.partition('id="withdraw-form"')[2].count('<option value="HIRE">') == 1
    assert 'aria-label="Leave the debate"' not in live(page, table)


def test_programs_are_told_that_it_waits_for_a_person_until_it_goes_on(table: Table, seat: Client):
    def waits():
        return run_object(Debate.objects.with_members().get(pk=table.pk), "https://magi.example")["waits"]

    assert waits() == "person"
    Gate.objects.filter(run=table.pk).void()
    assert waits() == "time"
    table.become("running")
    assert waits() is None


def test_what_stood_in_the_form_of_a_turn_that_is_skipped_was_never_said(seat: Client, table: Table):
    gate = Gate.objects.get(run=table.pk)
    seat.post(reverse("gate", args=[gate.pk]), {**SAID, "said": "answer skip"})
    assert DebateTurn.objects.filter(debate=table.pk, state="skipped").exists()
    assert newest(table).content != SAID["content"]
    assert GateDecision.objects.get(gate=gate).answer == ""


def test_nobody_speaks_in_the_place_of_an_account_that_is_gone(page: Client, mira: User, elin: User, table: Table):
    elin.delete()
    gate = Gate.objects.get(run=table.pk)
    assert not Gate.objects.for_user(mira).filter(pk=gate.pk).exists()
    assert page.post(reverse("gate", args=[gate.pk]), {**SAID, "said": "answer speak"}).status_code == 403
    assert newest(table).content != SAID["content"]


def test_what_was_said_alone_stays_hidden_where_a_failed_debate_may_go_on(page: Client, table: Table):
    Run.objects.filter(pk=table.pk).update(status="failed", error={"code": "internal", "message": "Broke."})
    debate = Debate.objects.with_messages().get(pk=table.pk)
    assert hides_first_verdicts(debate)
    assert [*withheld_runs([debate.run])] == [table.pk]
    Run.objects.filter(pk=table.pk).update(override="HIRE")
    assert not hides_first_verdicts(Debate.objects.with_messages().get(pk=table.pk))


def test_a_person_is_told_in_words_what_is_missing_and_in_no_names_of_fields(seat: Client, table: Table):
    wrong = (
        {"content": "No."},
        {"verdict": "DO NOT HIRE", "verdict_reasoning": ""},
        {"verdict": "DO NOT HIRE", "verdict_reasoning": "Nobody is named.", "moved_by": "1 999"},
    )
    for typed in wrong:
        answer = send(seat, table, {"HX-Request": "true"}, **typed)
        said = re.sub(r"<[^>]*>", " ", answer.content.decode())
        assert answer.status_code == 422, typed
        assert not re.findall(r"[a-z]+_[a-z]+|State one of|its content", said), said
    assert "Say why, in two words or more." in send(seat, table, **wrong[1]).content.decode()
