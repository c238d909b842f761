"""What the API says of a debate."""

import json
from collections import Counter
from typing import Any

import pytest
from django.contrib.auth.models import User

from debates import moderation, responses, schemas
from debates.models import Debate, DebateMessage, FirstVerdict, MessagePoint
from debates.rules import state as rules
from runs.procedure.schemas import RunOut

from .rows import in_closing, member, over, queued, say
from .scenes import closing

pytestmark = pytest.mark.django_db
OWN = (
    schemas.DebateOut.model_fields.keys() - RunOut.model_fields.keys() - {"waits", "gates"}
)  # which all that wait have


def facts(debate: Debate) -> dict[str, Any]:
    return responses.debate_fields(Debate.objects.with_members().get(pk=debate.pk))


@pytest.fixture
def debate(mira: User) -> Debate:
    return queued(mira)


def test_it_says_what_is_described_and_nothing_else(debate: Debate):
    assert facts(debate).keys() == OWN


def test_each_part_is_as_it_is_described(debate: Debate):
    said = say(debate, 1, "HIRE", speaking_to=[2], expects_answer=True)
    MessagePoint.objects.create(
        message=said, number=1, claim="It holds.", option="HIRE", side="for", document="A1", line=3
    )
    say(debate, 1, "WAIT", moved_by=[1])
    own = {name: schemas.DebateOut.model_fields[name].annotation for name in OWN}
    assert type("Own", (schemas.StrictSchema,), {"__annotations__": own}).model_validate(facts(debate))


def test_members_stand_by_what_they_last_said(debate: Debate):
    say(debate, 1, "HIRE")
    say(debate, 2, "WAIT")
    say(debate, 1, "WAIT", moved_by=[2])
    told = facts(debate)
    first, second, third = told["members"][1:]
    assert (first["stands_by"], first["since"], second["since"], third["stands_by"]) == ("WAIT", 3, 2, None)
    assert told["tally"] == {"HIRE": 0, "WAIT": 2, "DO NOT HIRE": 0}
    assert told["changes"] == [{"message": 3, "seat": 1, "from": "HIRE", "to": "WAIT", "moved_by": [2]}]


def test_an_artifact_is_told_as_it_was_made(debate: Debate):
    made = {"title": "Supervision", "kind": "bars", "text": "", "columns": ["Year", "Hours"], "rows": [["2024", "31"]]}
    say(debate, 1, artifact=json.dumps(made))
    assert [one["artifact"] for one in facts(debate)["messages"]] == [made]


def test_members_say_why_they_stand_there_and_how_often_they_have_spoken(debate: Debate):
    assert [(one["reasoning"], one["messages"]) for one in facts(debate)["members"]] == [("", 0)] * 4
    say(debate, 1, "HIRE", reasoning="The letter says so.")
    say(debate, 2)
    say(debate, 1, "HIRE", reasoning="The second letter says so, too.")
    say(debate, 1)
    told = [(one["reasoning"], one["messages"]) for one in facts(debate)["members"]]
    assert told == [("", 0), ("The second letter says so, too.", 3), ("", 1), ("", 0)]


def test_a_script_of_ten_lines_counts_who_moved_and_after_whom(debate: Debate):
    for seat, verdict, moved_by in ((1, "HIRE", []), (2, "WAIT", []), (1, "WAIT", [2]), (2, "HIRE", [1]), (3, "", [])):
        say(debate, seat, verdict, moved_by=moved_by)
    told = json.loads(json.dumps(facts(debate)))

    names = {one["seat"]: one["name"] for one in told["members"]}
    speaker = {one["number"]: one["name"] for one in told["messages"]}
    moves: Counter[tuple[str, str]] = Counter()
    for change in told["changes"]:
        for message in change["moved_by"]:
            moves[names[change["seat"]], speaker[message]] += 1

    assert moves == {("Amara Osei", "Ilse Brandt"): 1, ("Ilse Brandt", "Amara Osei"): 1}


def test_whoever_abstains_stands_by_no_option(debate: Debate):
    say(debate, 1, rules.ABSTAIN)
    one = facts(debate)["members"][1]
    assert (one["stands_by"], one["abstained"]) == (None, True)


def test_people_are_called_by_their_names(debate: Debate, mira: User):
    say(debate, 1, speaking_to=[2], expects_answer=True)
    moderation.post_message(debate.pk, mira, "Go on.")
    said, told = facts(debate)["messages"]
    assert (said["name"], said["speaking_to"]) == ("Amara Osei", ["Ilse Brandt"])
    assert (told["name"], told["seat"], told["speaking_to"]) == ("mira", None, ["everyone"])


def test_a_note_says_its_facts(debate: Debate):
    noted = {"said": 4, "most": 60, "left": 16, "undecided": [1, 2]}
    kept = {"kind": rules.StatementKind.NOTE, "note": rules.NoteKind.REMINDER, "after": 4, "facts": noted}
    DebateMessage.objects.create(debate=debate, number=1, content="Time flies.", **kept)
    [note] = facts(debate)["messages"]
    assert note["content"].startswith("4 of 60 messages, 16 to the deadline")
    assert note["content"].endswith("Time flies.")
    assert (note["seat"], note["name"]) == (0, "Timekeeper")


def test_a_point_has_the_number_that_all_know_it_by(debate: Debate):
    said = say(debate, 1, "HIRE")
    MessagePoint.objects.create(message=said, number=1, claim="It holds.", option="HIRE", side="for")
    [message] = facts(debate)["messages"]
    assert message["points"][0]["number"] == "1.1"


def test_only_what_is_new_can_be_asked_for(debate: Debate):
    for seat in (1, 2, 3):
        say(debate, seat)
    row = Debate.objects.with_members().get(pk=debate.pk)
    assert [one["number"] for one in responses.message_objects(row, after=1)] == [2, 3]


def test_the_seed_is_told_at_the_end_and_its_digest_before(debate: Debate):
    before = facts(debate)
    after = facts(over(debate))
    assert (before["seed"], after["seed"]) == (None, debate.seed)
    assert before["seed_sha256"] == after["seed_sha256"]


def test_the_stages_follow_each_other(debate: Debate):
    stages = [facts(debate)["stage"]]
    say(debate, 1)
    stages += [facts(debate)["stage"], facts(in_closing(debate))["stage"], facts(over(debate))["stage"]]
    assert stages == ["first", "open", "closing", None]


def alone(debate: Debate, seat: int, word: str) -> None:
    verdict = debate.options.get(word=word)
    FirstVerdict.objects.create(member=debate.members.get(seat=seat), verdict=verdict, confidence=70, reasoning="So.")


def test_first_verdicts_are_told_with_what_the_rule_would_have_made_of_them(debate: Debate):
    alone(debate, 1, "HIRE")
    alone(debate, 2, "HIRE")
    assert facts(debate)["first"]["outcome"] is None
    told = facts(over(debate, "WAIT"))["first"]
    assert (told["outcome"], [one["verdict"] for one in told["verdicts"]]) == ("HIRE", ["HIRE", "HIRE"])


def test_with_a_person_on_a_seat_nobody_sees_them_before_the_end(mira: User, noor: User):
    seat = {"name": "Noor", "who": "", "model": "", "user": noor}
    debate = queued(mira, members=[member("Amara Osei"), seat])
    alone(debate, 1, "HIRE")
    assert facts(debate)["first"] is None
    assert facts(over(debate))["first"] is not None


def test_at_the_end_it_says_whose_word_is_missing(debate: Debate, mira: User):
    say(debate, 1, "HIRE")
    say(debate, 2, "HIRE")
    assert facts(over(debate))["because_of_absence"] == ["Rajiv Menon gave no verdict."]


def test_it_takes_as_many_queries_for_a_long_debate(debate: Debate, django_assert_num_queries: Any):
    for number in range(12):
        say(debate, number % 3 + 1, "HIRE")
    row = Debate.objects.with_members().get(pk=debate.pk)
    with django_assert_num_queries(0):
        responses.debate_fields(row)


def test_a_last_word_is_told_to_programs_once_those_before_it_are_said(mira):
    table = closing(mira)  # in which the fourth has said hers first
    told = [[one["seat"] for one in responses.message_objects(table.row) if one["kind"] == "closing"]]
    for seat in (1, 2, 3):
        if table.debate.turns.filter(member__seat=seat, why="closing", state="open").exists():
            table.last_word(seat, verdict="HIRE", reasoning="It was answered.")
            told.append([one["seat"] for one in responses.message_objects(table.row) if one["kind"] == "closing"])
    assert told == [[], [1], [1, 2], [1, 2, 3, 4]]
