"""A person who leaves out of turn, with another verdict than before: whoever reads of it reads the same."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from debates import moderation, prompts, responses
from debates.management.commands.debate import Command
from debates.models import Debate, SteeringAction
from debates.models.context_builder import build_prompt_context
from debates.page.display import display_of
from debates.prompts.member_history import summary_line
from debates.record.xml_export import render_debate_xml
from debates.rules.state import SteeringKind, TurnReason, TurnState
from debates.xml_messages import read_messages
from runs.record.replay import RunReplay
from tests.debates.recount import recounted
from tests.debates.table import PANEL, Table
from tests.debates.talks import AMARA, HANA, HIRE, ILSE, NO, RAJIV, TOMAS

pytestmark = pytest.mark.django_db

WHY = "Nobody has seen the instruments."


def left(owner: User) -> Table:
    """Three for it, two against, among them who then leaves for the other side."""
    members = [{"name": name, "who": who, "model": "openai/a"} for name, who in PANEL[:5]]
    members[HANA - 1] = {"name": "Elin Sato", "who": "Head of the workshop.", "user": owner}
    table = Table(owner, members=members)
    table.note()
    for seat, verdict in ((AMARA, HIRE), (ILSE, HIRE), (HANA, HIRE), (RAJIV, NO)):
        table.say(
            seat, f"I am number {seat} and say so.", verdict=verdict, reasoning="As I see it.", why=TurnReason.CALL
        )
    moderation.withdraw_member(table.pk, owner, NO, WHY)
    return table


def laid(table: Table):
    debate = Debate.objects.with_messages().get(pk=table.pk)
    return build_prompt_context(debate, debate.state())


def test_it_is_a_message_with_a_number_of_its_own(mira: User):
    table = left(mira)
    [change] = table.course.changes
    assert (change.number, change.seat, change.before, change.verdict) == (table.newest, HANA, HIRE, NO)
    assert table.course.clock == 4
    assert table.course.verdict_at(table.newest - 1)[HANA] == HIRE


def test_prompts_and_minutes_tell_it(mira: User):
    table = laid(left(mira))
    asked = prompts.member_messages(table, TurnState(9, AMARA, TurnReason.DRAW, after=table.course.newest))
    [told] = [one for one in map(read_messages, _messages(asked[-1]["content"])) if one.number == table.course.newest]
    assert (told.verdict, told.stated, told.withdrawn, told.reasoning) == (NO, True, True, WHY)
    assert summary_line(prompts.elements(table)[-1], True).endswith(f"| now {NO} | withdraws")


def _messages(text: str) -> list[str]:
    return [f"<Message {part.partition('</Message>')[0]}</Message>" for part in text.split("<Message ")[1:]]


def test_page_record_json_and_command_line_tell_it(mira: User, page: Client):
    table = left(mira)
    live = page.get(reverse("debate-live", args=[table.pk])).content.decode()
    record = page.get(reverse("debate-record", args=[table.pk])).content.decode()
    assert [html.count(WHY) > 0 and "Withdraws from the debate" in html for html in (live, record)] == [True, True]
    told = responses.debate_fields(table.row)
    last, member = told["messages"][-1], told["members"][HANA]
    assert (last["kind"], last["seat"], last["verdict"], last["verdict_reasoning"]) == ("leaving", HANA, NO, WHY)
    assert (member["stands_by"], member["since"], member["reasoning"]) == (NO, last["number"], WHY)
    assert [text for _, text in Command().new_lines(table.row)][
        -1
    ] == f"  {last['number']}. Elin Sato withdraws [{NO}]: {WHY}"


def test_it_is_replayed_from_when_it_was_done(mira: User):
    table = left(mira)
    table.become("cancelled")
    said = table.debate.messages.order_by("-number")[:2]
    then = [RunReplay(table.seen()).display_at(one.made).seats[HANA - 1] for one in said]
    assert [(seat.look.word, seat.line) for seat in then] == [(NO, "Withdrew after 4 messages"), (HIRE, "1 message")]


def test_nobody_waits_for_an_answer_of_who_has_left(mira: User):
    table = left(mira)
    table.say(TOMAS, "Why so, Hana?", to=(HANA,), wants_answer=True, why=TurnReason.CALL)
    seat = display_of(table.seen()).seats[HANA - 1]
    assert (seat.asked, seat.out) == (False, True)


def test_by_its_xml_it_comes_to_what_it_came_to(mira: User):
    table = left(mira)
    table.say(TOMAS, "Then I am against it.", verdict=NO, reasoning="As Hana says.", why=TurnReason.CALL)
    table.steer(SteeringKind.END)
    table.end()
    assert table.row.run.outcome == NO
    told = render_debate_xml(table.row)
    assert recounted(told) == (NO, "")
    assert (
        recounted(told.replace("<Withdrawn>true", "<Withdrawn>false").replace(f'stated="now">{NO}', f">{HIRE}"))[0]
        == HIRE
    )


def test_of_an_older_debate_the_xml_tells_who_left_by_an_act(mira: User):
    table = left(mira)
    amara = table.debate.at_seat(AMARA)
    no = table.debate.option_called(NO)
    SteeringAction.objects.create(
        **{"debate": table.debate, "number": 1, "by_name": "x", "act": SteeringKind.WITHDRAW, "member": amara},
        **{"verdict": no, "reasoning": "Of the budget.", "after": table.newest},
    )
    table.say(TOMAS, "Then I am against it.", verdict=HIRE, reasoning="As it is.", why=TurnReason.CALL)
    assert recounted(render_debate_xml(table.row)) == (NO, "")
    assert json.dumps(responses.debate_fields(table.row)["acts"]).count("Of the budget.") == 1
