"""What the record of a debate says, and what it does not say before the end."""

import json
import re
from xml.etree import ElementTree

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from debates.history import debate_summaries, prefetch_for_list
from debates.models import Debate, DebateMessage, DebateTurn, Panel
from debates.prompt_context import AnswerShape, PromptArtifact, PromptPoint
from debates.record.xml_export import render_debate_xml
from debates.xml_messages import unescape_scaffold
from engine.models import Document, ModelCall
from runs import run_actions
from runs.record import redaction
from runs.record.document import record_of
from tests.conftest import some_of
from tests.databases import tampering
from tests.debates.scenes import SCENES, decided, failed, silent, undecided, waiting
from tests.debates.strategies import NASTY
from tests.debates.table import SEED, Table
from tests.debates.talks import HIRE, ILSE, NO, RAJIV, early, late
from tests.debates.test_panels import held

pytestmark = pytest.mark.django_db

NOTHING_ELSE = {"verdict_reasoning": "", "moved_by": [], "withdrawn": False, "points": [], "artifact": None}
WORDS_ALONE = "Nobody may hear this yet."


def recorded(table):
    row = table.row
    return record_of(row, list(row.run.calls.order_by("pk")))


def opened(client, table, page="debate-record", *more):
    return client.get(reverse(page, args=[table.pk, *more]))


@pytest.fixture
def signed_in(client, mira):
    client.force_login(mira)
    return client


@pytest.mark.parametrize("name", some_of(SCENES, 5))
def test_the_record_of_every_scene_is_shown(name, mira, signed_in):
    assert "Transcript" in opened(signed_in, SCENES[name](mira)).content.decode()


# ---- how it came about ------------------------------------------------------------------------------------


def test_a_summary_says_who_debated_and_what_came_of_it(mira):
    said = recorded(decided(mira))["summary"]
    assert said.startswith("Five members debated on 21 November 2026 from 14:01:00 to ")
    assert "in 46 messages and four last words. Three of five supported “HIRE” at the end" in said
    assert said.endswith("The chair, M. Okafor, spoke twice and closed the debate. No turn was skipped.")


def test_where_the_outcome_advises_pages_file_and_history_say_that_people_decide(mira, signed_in):
    table = decided(mira)

    def told():
        pages = [opened(signed_in, table, page).content.decode() for page in ("debate-live", "debate-record")]
        return (
            *pages,
            render_debate_xml(table.row),
            debate_summaries(prefetch_for_list(Debate.objects.all()))[table.pk].notes,
        )

    assert not [text for text in told() if "people decide" in text or "advises" in text]
    with tampering():
        Debate.objects.filter(pk=table.pk).update(advisory=True)
    live, record, file, notes = told()
    assert live.count("It advises: people decide.") >= 2
    assert "advises, people decide" in record
    assert ('advises="people decide"' in file, "advises" in notes) == (True, True)


def test_a_debate_that_goes_on_is_said_to_be_incomplete(mira):
    assert recorded(early(mira))["summary"].startswith("Still under way: this record is not complete")


def test_one_that_failed_says_of_what(mira):
    assert "Fewer than two members can speak. Silent: Hana Kubo." in recorded(failed(mira))["summary"]


def test_the_result_shows_what_each_stood_by_at_every_stage(mira):
    result = recorded(decided(mira))["result"]
    assert result.heads == ("Alone, before", "At 20", "At 40", "At the end")
    assert [look.word for look in result.rows[3].looks] == [NO, NO, HIRE, HIRE]
    assert (result.rows[3].name, result.rows[3].messages) == ("Hana Kubo", 9)
    assert "HIRE 3, HIRE ON CONDITIONS 1, DO NOT HIRE 1" in result.lines[0]


def test_a_change_says_what_was_named_and_what_had_been_heard(mira):
    moved = recorded(decided(mira))["moved"][-1]
    assert moved.shown.sentence == "Named message 58 of Ilse Brandt."
    assert moved.heard == (
        "It had heard 11 messages since it spoke last, with 3 points. It moved towards the majority."
    )


def test_where_nothing_is_decided_every_verdict_stands_in_the_report(mira, signed_in):
    html = opened(signed_in, undecided(mira)).content.decode()
    assert "Final positions" in html
    assert html.count('class="minority"') == 4  # one abstains


def test_influence_has_two_columns_that_lead_to_the_changes(mira):
    swayers = {one.name: (one.named_in, one.before) for one in recorded(decided(mira))["swayers"]}
    assert swayers["Ilse Brandt"] == ((59,), (30, 43, 59))
    assert swayers["Hana Kubo"] == ((), ())


def test_a_point_stands_under_the_one_that_it_answers_with_its_source(mira):
    table = early(mira)
    Document.objects.create(run=table.row.run, number=2, title="Plan", kind="text", text="\n" * 30 + "spring block")
    hire = recorded(table)["cases"][0]
    plan = next(line for line in hire.against if line.claim.startswith("The plan"))
    assert (plan.checked, plan.became) == ("source not found", "")
    [answer] = plan.under
    assert (answer.id, answer.who, answer.checked) == ("7.1", "Ilse Brandt", "source checked")
    assert answer.speaks == "for HIRE, to 5.1"


def test_answers_to_answers_to_answers_do_not_go_deeper_and_deeper(mira, signed_in):
    table = Table(mira)
    table.note()
    for number in range(8):
        answers = f"{table.said}.1" if number else ""
        point = PromptPoint(f"Point {number}", HIRE, "for" if number % 2 else "against", answers=answers)
        table.say(1 + number % 5, points=(point,), why="call")
    html = opened(signed_in, table).content.decode()
    assert all(f"Point {number} <span" in html for number in range(8))


def test_voices_by_experience_wait_for_enough_debates_of_the_panel(mira):
    panel = Panel.objects.create_first(name="Posts", owner=mira, **held())
    table = early(mira)
    with tampering():
        Debate.objects.filter(pk=table.pk).update(panel_version=panel.current, ended_because="most")
    table.become("failed")
    assert recorded(table)["experience"] == "From experience: too few debates of this panel (1 of 20)."


def test_a_table_of_twenty_by_six_stands_in_page_and_export(mira, signed_in):
    table = early(mira)
    rows = tuple(tuple(f"r{row}c{cell}" for cell in range(6)) for row in range(20))
    table.say(ILSE, artifact=PromptArtifact("Much", AnswerShape.TABLE, columns=tuple("abcdef"), rows=rows))
    html, root = opened(signed_in, table).content.decode(), xml(signed_in, table)
    assert all(f"<td>{cell}</td>" in html for row in rows for cell in row)
    assert [cell.text for cell in root.iter("Cell")] == [*"abcdef", *(cell for row in rows for cell in row)]


# ---- the floor --------------------------------------------------------------------------------------------


def test_every_draw_can_be_repeated(mira):
    table = Table(mira)
    table.note()
    table.play(4)
    table.end()
    floor = recorded(table)["floor"]
    assert floor.seed == SEED.hex()
    assert floor.given[0].tickets == "10 10 10 10 10"
    assert floor.given[0].drawn.endswith(" of 50")
    assert floor.text.startswith("With it all 4 draws come out again")
    with tampering():
        DebateTurn.objects.filter(debate=table.pk, number=2).update(ticket=49)
    assert recorded(table)["floor"].text == "Of 4 draws, 1 do not come out by it."


def test_the_seed_is_a_secret_until_the_end(mira, signed_in):
    for table in early(mira), failed(mira):
        assert SEED.hex() not in opened(signed_in, table).content.decode()


def test_a_turn_that_was_skipped_says_why(mira):
    given = recorded(silent(mira))["floor"].given
    assert "skipped: could not speak: 401 The key was refused." in [turn.skipped for turn in given]


# ---- what was said and asked ------------------------------------------------------------------------------


def test_each_message_says_how_its_speaker_got_the_floor_and_what_it_did_not_know(mira):
    table = early(mira)
    turn = table.open(RAJIV)
    table.chair("Please come to the point.")
    table.say(RAJIV)
    line = recorded(table)["log"].lines[-1]
    assert line.why == f"Turn {turn.number}: drawn; had not heard message {table.newest - 1}."
    assert [asked.facts.partition(" ·")[0] for asked in line.asked] == ["asked openai/a (json_schema)"]


def test_the_whole_prompt_has_a_page_of_its_own(mira, signed_in):
    table = early(mira)
    call = table.row.run.calls.get(step="turn-1")
    with tampering():
        ModelCall.objects.filter(pk=call.pk).update(prompt=json.dumps([{"role": "system", "content": "Be brief."}]))
    assert "Be brief." not in opened(signed_in, table).content.decode()
    assert "Be brief." in opened(signed_in, table, "debate-asked", call.pk).content.decode()


def test_somebody_elses_prompts_are_not_there(mira, noor, client):
    client.force_login(noor)
    table = early(mira)
    call = table.row.run.calls.first()
    assert opened(client, table, "debate-asked", call.pk).status_code == 404


def test_a_chair_that_names_an_option_is_flagged(mira):
    table = early(mira)
    said = table.chair("Let us hire.")
    with tampering():
        DebateMessage.objects.filter(pk=said.pk).update(names_option=True)
    assert [deed.flag for deed in recorded(table)["chair"]] == ["It names an option."]


def test_a_record_takes_as_many_queries_however_long_it_is(mira, signed_in):
    counts = []
    for messages in (2, 7):
        table = Table(mira)
        table.note()
        table.play(messages)
        table.end()
        with CaptureQueriesContext(connection) as queries:
            opened(signed_in, table)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 25


# ---- with a person on a seat ------------------------------------------------------------------------------


@pytest.fixture
def with_person(mira):
    table = waiting(mira)
    table.call("first-1", answer=WORDS_ALONE, attempt=2)
    table.alone(1, HIRE, WORDS_ALONE)
    return table


def test_nobody_reads_before_the_end_what_members_said_alone_or_were_asked(with_person, reviewer, client):
    client.force_login(reviewer)
    for page in ("record", "record-xml", "live", "fragments"):
        assert WORDS_ALONE not in opened(client, with_person, f"debate-{page}").content.decode()
    call = with_person.row.run.calls.get(step="first-1", answer__gt="")
    assert opened(client, with_person, "debate-asked", call.pk).status_code == 404


def test_the_sealed_record_is_given_when_it_is_over(with_person, reviewer, client):
    client.force_login(reviewer)
    answer = opened(client, with_person, "debate-record-file")
    assert answer.status_code == 409
    assert "A person sits at the table." in answer.content.decode()
    with_person.become("cancelled")
    assert opened(client, with_person, "debate-record-file").status_code == 200
    assert WORDS_ALONE in opened(client, with_person).content.decode()


def test_a_persons_turn_says_when_it_was_asked_and_who_answered(mira):
    table = waiting(mira)
    said = {
        "content": "They can, for half a year.",
        "speaking_to": ["everyone"],
        "expects_answer": False,
        "verdict": "",
    }
    gate = table.row.run.gates.get()
    run_actions.decide(gate.pk, mira, "answer", choice="speak", answer=said | NOTHING_ELSE)
    line = next(line for line in recorded(table)["log"].lines if "A person was asked" in line.why)
    assert re.search(r"asked by message \d+\. A person was asked .* UTC; mira answered .* UTC\.$", line.why)


def test_it_says_who_sits_there_and_which_model_speaks(mira):
    seats = recorded(waiting(mira))["seats"]
    assert [one.speaks for one in seats][:2] == ["stated sentences", "openai/a"]
    assert (seats[4].name, seats[4].speaks) == ("Elin Sato", "a person: mira")


# ---- XML --------------------------------------------------------------------------------------------------


def xml(client, table):
    return ElementTree.fromstring(opened(client, table, "debate-record-xml").content)


def test_the_xml_has_all_that_was_said_and_what_came_of_it(mira, signed_in):
    root = xml(signed_in, decided(mira))
    assert root.find("Outcome").attrib == {"rule": "majority", "because": "closed"}
    assert root.findtext("Outcome") == HIRE
    assert len({one.attrib["id"] for one in root.find("Messages")}) == 64
    assert [one.get("kind") for one in root.find("Messages")][-6:] == [None, "chair", *["closing"] * 4]
    assert [one.attrib["verdict"] for one in root.find("Alone")] == [
        "HIRE ON CONDITIONS",
        HIRE,
        "HIRE ON CONDITIONS",
        NO,
        NO,
    ]


def test_it_is_well_formed_whatever_was_said(mira, signed_in):
    kept = [text.replace("\0", "") for text in NASTY if "\ud83d" not in text]  # which no database takes
    table = early(mira)
    for number, text in enumerate(kept):
        table.say(ILSE, text, reasoning=text, verdict=(NO, HIRE)[number % 2], why="call")
    said = [unescape_scaffold(one.findtext("Content")) for one in xml(signed_in, table).findall("Messages/Message")]
    assert said[-len(kept) :] == kept


def test_in_the_xml_a_message_has_the_moment_of_its_row_and_says_who_withdrew_with_it(mira, signed_in):
    table = late(mira)
    rows = {one.number: one for one in DebateMessage.objects.filter(debate=table.pk)}
    told = {int(one.attrib["id"][9:]): one for one in xml(signed_in, table).find("Messages")}
    assert told.keys() == rows.keys()
    assert {n: one.attrib["timestamp"] for n, one in told.items()} == {
        n: f"{row.made:%Y-%m-%dT%H:%M:%SZ}" for n, row in rows.items()
    }
    assert [rows[n].member.name for n, one in told.items() if one.findtext("Withdrawn") == "true"] == ["Tomás Rey"]


def test_xml_and_record_of_a_redacted_debate_keep_verdicts_and_no_words(mira, signed_in):
    table = decided(mira)
    redaction.redact_run(table.pk, "mira", "Asked for it.")
    root = xml(signed_in, table)
    assert root.attrib["redacted"].endswith("Z")
    assert root.findtext("Question") == ""
    assert "".join(one.findtext("Content") for one in root.iter("Message")) == ""

    html = opened(signed_in, table).content.decode()
    assert "The letter answers" not in html
    assert "Weekly supervision" not in html
    assert "Tomás Rey" in html


def test_where_members_know_one_another_by_letters_people_read_whose_they_are(mira, signed_in):
    told, untold = Table(mira, view="minutes"), Table(mira)
    for table in (told, untold):
        table.note()
        table.say(ILSE, "As Member A says.", why="call")
        found = [opened(signed_in, table, page).content.decode() for page in ("debate-live", "debate-record")]
        shown = table is told
        assert ["Ilse Brandt (Member B)" in html and "Member A" in html for html in found] == [shown, shown]
        assert [one.get("called") for one in xml(signed_in, table).find("Members")][1:3] == (
            ["Member A", "Member B"] if shown else [None, None]
        )
