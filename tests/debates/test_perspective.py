import json
import re
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from debates import prompts, xml_messages
from debates.prompt_context import MessageWords, PromptDocument, PromptPoint, PromptView
from debates.prompts import member_history
from debates.prompts.member_history import BRIDGING_MESSAGE
from debates.rules.state import (
    TURNS,
    MessageState,
    NoteKind,
    StatementKind,
    SteeringKind,
    TurnReason,
    TurnSettings,
    TurnState,
)
from debates.rules.turn_taking import AddTimekeeperNote

from . import golden
from .golden import debate, scripted
from .held import (
    NAMES,
    SEED,
    chaired,
    heard,
    hold,
    next_turn,
    noted,
    now,
    opened,
    own,
    parsed,
    roles,
    said,
    steered,
    text_of,
    told,
    with_course,
    with_settings,
)
from .held import given as giving
from .random_histories import table_of
from .strategies import few

DRAWN = TurnState(99, 2, TurnReason.DRAW)


# ---- as they are sent -------------------------------------------------------------------------------------


def test_requests_are_to_the_byte_what_they_were():
    for name, text in golden.all_requests().items():
        assert text == (golden.FOLDER / f"{name}.txt").read_text(), name


@few
@given(st.integers(0, 10**9))
def test_roles_alternate_and_the_last_is_user_whatever_was_said(seed):
    table, turn = table_of(seed)
    conversation = prompts.member_messages(table, turn)
    expected = ["system", *(["user", "assistant"] * len(conversation))][: len(conversation)]
    assert roles(conversation) == expected
    assert roles(conversation)[-1] == "user"
    assert conversation[-1]["content"].endswith("</Floor>")
    assert own(conversation) == [] or table.view == PromptView.PERSPECTIVE


@few
@given(st.integers(0, 10**9))
def test_all_that_was_said_is_told_once_and_in_its_order(seed):
    table, turn = table_of(seed)
    conversation = prompts.member_messages(table, turn)
    shown = [one for one in parsed(conversation) if one.tag in ("Message", "Note") and "id" in one.attrib]
    numbers = [int(one.attrib["id"].rpartition("-")[2]) for one in shown]
    lines = [
        int(line.split()[0]) for one in parsed(conversation).iter("Minutes") for line in one.text.strip().split("\n")
    ]
    mine = [one.number for one in table.course.messages if one.seat == turn.seat and one.sort == StatementKind.SAID]
    heard = {one.number for one in table.course.messages} - set(mine if table.view == PromptView.PERSPECTIVE else ())
    assert heard <= {*numbers, *lines}
    assert numbers == sorted(set(numbers))


def test_a_member_s_own_words_are_its_own_and_all_others_are_told_to_it():
    table = debate(5, 21)
    histories = {seat: prompts.member_messages(table, TurnState(99, seat, TurnReason.DRAW)) for seat in range(1, 6)}
    for seat, conversation in histories.items():
        mine = [table.words[one.number].content for one in table.course.messages_said if one.seat == seat]
        assert [answer["content"] for answer in own(conversation)] == mine
        assert f"<Speaker>{NAMES[seat - 1]}</Speaker>" not in told(conversation)
    assert len({text_of(conversation) for conversation in histories.values()}) == 5


def test_what_a_member_answered_is_told_in_the_form_in_which_it_is_asked():
    table = debate(5, 21)
    for answer in own(prompts.member_messages(table, DRAWN)):
        assert tuple(answer) == prompts.FORMS["member"]


def test_a_member_is_the_same_from_its_first_request_to_its_last():
    closing = TurnState(99, 2, TurnReason.CLOSING, debate(5, 200).course.newest)
    first = prompts.first_verdict_messages(debate(5, 1), 2)[0]
    assert (
        first == prompts.member_messages(debate(5, 21), DRAWN)[0] == prompts.member_messages(debate(5, 200), closing)[0]
    )


def test_the_shared_layer_is_the_same_for_all_and_the_own_layer_is_not():
    systems = [
        prompts.first_verdict_messages(opened(5), seat)[0]["content"].partition("# Who you are") for seat in range(1, 6)
    ]
    assert len({shared for shared, _, _ in systems}) == 1
    assert len({individual for _, _, individual in systems}) == 5


@pytest.mark.parametrize("view", PromptView)
def test_nothing_of_first_verdicts_models_or_the_seed_is_told(view):
    table = replace(debate(5, 21), view=view)
    without = with_settings(with_course(table, firsts=()), seed=bytes(32))
    for seat in range(1, 6):
        turn = TurnState(99, seat, TurnReason.DRAW, weights=((1, 7), (2, 4)), ticket=3)
        text = text_of(prompts.member_messages(table, turn))
        assert text == text_of(prompts.member_messages(without, TurnState(99, seat, TurnReason.DRAW)))
        assert SEED.hex() not in text


# ---- two zones --------------------------------------------------------------------------------------------


def test_a_request_at_message_200_has_all_numbers_in_it():
    table = debate(5, 200)
    conversation = prompts.member_messages(table, TurnState(99, 2, TurnReason.DRAW))
    mine = {one.number for one in table.course.messages_said if one.seat == 2}
    numbers = {int(number) for number in re.findall(r'(?:^|id="7f3a9c21-)(\d+)', told(conversation), re.MULTILINE)}
    assert {one.number for one in table.course.messages} - mine <= numbers


@pytest.mark.parametrize(("messages", "whole"), [(20, 20), (39, 39), (40, 20), (59, 39), (60, 20), (61, 21)])
def test_whole_is_all_since_the_beginning_of_the_span_before(messages, whole):
    table = hold(debate(9, 21), scripted, messages) if messages > 21 else hold(opened(9), scripted, messages)
    conversation = prompts.member_messages(replace(table, view=PromptView.MINUTES), DRAWN)
    shown = [one for one in parsed(conversation).iter("Message") if one.findtext("Speaker") != "Chair"]
    assert len(shown) == whole


def test_of_what_is_older_one_s_own_last_four_stay_whole_and_the_chair_s_words():
    table = debate(5, 200)
    conversation = prompts.member_messages(table, DRAWN)
    border = next(one.number for one in table.course.messages_said if one.clock == 180)
    mine = [one.number for one in table.course.messages_said if one.seat == 2]
    shown = mine[-len([number for number in mine if number > border]) - 4 :]
    assert [answer["content"] for answer in own(conversation)] == [table.words[number].content for number in shown]
    assert "What about &lt;the letter&gt;?" in told(conversation)


def test_the_beginning_of_a_request_stays_the_same_between_two_deadlines():
    table = debate(5, 21)
    before = prompts.member_messages(table, DRAWN)
    after = prompts.member_messages(hold(table, scripted, 39), DRAWN)
    begun = text_of(before).rpartition("<Floor")[0]
    assert text_of(after).startswith(begun)


def test_a_line_of_the_minutes_says_what_was_claimed_and_what_it_moved():
    point = PromptPoint("The letter names dates.", "HIRE", "for", "A3", 26, "12.1")
    shown = xml_messages.XmlMessage(
        "7f3a9c21", 46, now(opened()), "Ilse Brandt", points=(point,), verdict="HIRE", moved_by=(41, 45)
    )
    line = member_history.summary_line(shown, changed=True)
    assert line == "46 Ilse Brandt: 46.1 re 12.1 for HIRE (A3:26) The letter names dates. | now HIRE, moved by 41 45"


def test_a_line_of_the_minutes_has_an_end_whatever_was_said():
    for text, points in product(("long words " * 400, "<&>" * 300, "\n" * 300, "评审" * 300), (0, 1, 3)):
        point = PromptPoint(text, text, "against", "A8", 9999, "199.3")
        told = {"points": (point,) * points, "verdict": text, "withdrawn": True}
        line = member_history.summary_line(
            xml_messages.XmlMessage("7f3a9c21", 199, now(opened()), text, text, **told), changed=True
        )
        assert len(line) <= (member_history.LINE_LENGTH if points < 2 else 280)
        assert "\n" not in line


def long(table, turn, continues):
    """An answer that makes a message of about 260 tokens, at four characters each."""
    answer = json.loads(scripted(table, turn, continues)) | {"artifact": None, "moved_by": []}
    point = {
        "claim": f"In {table.course.newest} she led a group of seven people and wrote of it twice.",
        "option": "HIRE",
    }
    answer["points"] = [point | {"side": "for", "document": "A1", "line": 7, "answers": ""}]
    number = table.course.newest
    answer["content"] = " ".join(f"word{number * place % 1009}" for place in range(1, 80))
    return json.dumps(answer)


def test_the_largest_request_is_below_26_000_tokens_and_grows_by_a_line_a_message():
    lines = [f"Line {number} of a document that is as long as documents are." for number in range(435)]
    table = replace(opened(5), documents=(PromptDocument("A1", "Papers", lines),))
    assert sum(map(len, lines)) > 4 * 6_000
    sizes = {}
    for messages in (59, 79, 99, 199):
        table = hold(table, long, messages)
        sizes[messages] = len(text_of(prompts.member_messages(table, DRAWN))) / 4
    written = [
        len(xml_messages.write_message(one)) / 4
        for one in prompts.elements(table)
        if isinstance(one, xml_messages.XmlMessage)
    ]
    assert 255 < sum(written) / len(written) < 275
    assert sizes[199] < 26_000
    assert (sizes[199] - sizes[59]) / 140 < 45


# ---- own messages in a row --------------------------------------------------------------------------------


def twice(continues=False, between=None):
    """Member 2 has spoken twice in a row."""
    table = noted(opened(3), AddTimekeeperNote("opening", 0))
    for number in (1, 2):
        turn = TurnState(number, 2, TurnReason.DRAW)
        answer = prompts.DebateAnswer(
            f"I say it for time {number}.", verdict="HIRE" if number == 1 else "", reasoning="So it is."
        )
        table = said(giving(table, turn), turn, answer, 2 if continues and number == 2 else None)
        table = between(table) if between and number == 1 else table
    return table


def test_between_two_own_messages_stands_a_fixed_sentence():
    conversation = prompts.member_messages(twice(), DRAWN)
    assert roles(conversation) == ["system", "user", "assistant", "user", "assistant", "user"]
    assert conversation[3]["content"] == BRIDGING_MESSAGE


def test_between_two_own_messages_stands_what_was_said_there_if_anything_was():
    conversation = prompts.member_messages(twice(between=lambda table: chaired(table, "Go on.")), DRAWN)
    assert BRIDGING_MESSAGE not in text_of(conversation)
    assert "Go on." in conversation[3]["content"]


def test_a_message_and_its_continuation_are_one_answer():
    [answer] = own(prompts.member_messages(twice(continues=True), DRAWN))
    assert answer["content"] == "I say it for time 1. I say it for time 2."
    assert (answer["verdict"], answer["verdict_reasoning"]) == ("HIRE", "So it is.")


def test_to_others_a_continuation_says_what_it_continues():
    conversation = prompts.member_messages(twice(continues=True), TurnState(99, 1, TurnReason.DRAW))
    assert [one.attrib.get("continues") for one in parsed(conversation).iter("Message")] == [None, "2"]


# ---- the floor --------------------------------------------------------------------------------------------


def floor_of(table, turn, continues=None):
    return parsed(prompts.member_messages(table, turn, continues)).find("Floor")


def asked_twice():
    table = noted(opened(3), AddTimekeeperNote("opening", 0))
    turn = TurnState(1, 1, TurnReason.DRAW)
    return said(giving(table, turn), turn, prompts.DebateAnswer("What do you say?", to=(2,), wants_answer=True))


FLOORS = {
    TurnReason.DRAW: "You have no verdict yet. You were drawn.",
    TurnReason.REPLY: "You have no verdict yet. Ilse Brandt asks you.",
    TurnReason.ROLL_CALL: "You have no verdict yet. The deadline has come. State one or abstain, and say why.",
    TurnReason.CALL: "You have no verdict yet. You have said nothing for 1 message.",
    TurnReason.ASKED: "You have no verdict yet. The chair asks you to speak.",
}


def test_the_floor_says_why():
    known = {"message": "7f3a9c21-3", "left": "19", "asked_by": "Ilse Brandt"}
    for why, text in FLOORS.items():
        element = floor_of(asked_twice(), TurnState(2, 2, why, asked_by=2))
        assert (element.text, element.attrib) == (text, known | {"why": str(why)})


def test_the_floor_says_what_one_stands_by():
    assert floor_of(twice(), DRAWN).text.startswith("You stand by HIRE. ")
    abstaining = said(giving(twice(), DRAWN), DRAWN, prompts.DebateAnswer("I cannot say.", verdict="ABSTAIN"))
    assert floor_of(abstaining, DRAWN).text.startswith("You abstain. ")


def test_the_floor_of_a_challenge_asks_for_the_case_against_and_leaves_the_verdict():
    table = twice()
    turn = TurnState(5, 2, TurnReason.CHALLENGE)
    assert "the strongest case against it" in floor_of(table, turn).text
    table = said(giving(table, turn), turn, prompts.DebateAnswer("What if not?", verdict="ABSTAIN", reasoning="No."))
    assert own(prompts.member_messages(table, DRAWN))[-1]["verdict"] == ""
    assert (
        parsed(prompts.member_messages(table, TurnState(6, 1, TurnReason.DRAW)))
        .findall("Message")[-1]
        .findtext("Verdict")
        == "HIRE"
    )


def test_the_floor_of_a_continuation_quotes_the_last_words():
    element = floor_of(twice(), DRAWN, continues=3)
    assert "ended with the words “…I say it for time 2.”. Give the rest, in the same form." in element.text
    assert element.attrib["why"] == "continuing"


def test_who_is_left_alone_is_told_so():
    table = steered(steered(twice(), SteeringKind.WITHDRAW, 1), SteeringKind.WITHDRAW, 3)
    assert "Nobody else can speak any more." in floor_of(table, DRAWN).text


def test_who_is_recalled_is_told_so():
    assert (
        "the chair asks you once more"
        in floor_of(steered(twice(), SteeringKind.WITHDRAW, 2), TurnState(9, 2, TurnReason.ASKED)).text
    )


def test_a_closing_hears_nothing_that_was_said_after_it_began():
    table = twice()
    turns = [TurnState(number, number - 7, TurnReason.CLOSING, table.course.newest) for number in (8, 9)]
    before = prompts.member_messages(with_course(table, turns=[*table.course.turns, *turns]), turns[1])
    last = MessageState(table.course.newest + 1, StatementKind.CLOSING, 1, turn=8, verdict="ABSTAIN")
    after = prompts.member_messages(
        chaired(heard(table, last, MessageWords(now(table), "My last word.")), "Hurry!"), turns[1]
    )
    assert told(after) == told(before)


# ---- the view of the minutes ------------------------------------------------------------------------------


def test_in_the_minutes_all_read_the_same_and_nobody_is_named():
    table = replace(debate(5, 21), view=PromptView.MINUTES, who={})
    requests = [prompts.member_messages(table, TurnState(99, seat, TurnReason.DRAW)) for seat in range(1, 6)]
    assert len({text_of(request).rpartition("<Floor")[0] for request in requests}) == 1
    assert not [name for name in NAMES if name in text_of(requests[0])]


def test_in_the_minutes_the_schema_has_letters():
    schema = json.dumps(prompts.answer_schema(replace(debate(5, 21), view=PromptView.MINUTES), DRAWN))
    assert "Member B" in schema
    assert NAMES[0] not in schema


# ---- kinds ------------------------------------------------------------------------------------------------


def test_a_further_kind_is_a_line_in_each_of_three_tables(monkeypatch):
    monkeypatch.setitem(TURNS, "witness", TurnSettings(floor=True))
    monkeypatch.setitem(prompts.LAYERS, "witness", "{you}You are a witness: {who}")
    monkeypatch.setitem(prompts.FORMS, "witness", ("speaking_to", "content", "points"))
    table = opened(3)
    seats = [replace(seat, kind="witness") if seat.seat == 3 else seat for seat in table.course.seats]
    table = with_course(table, seats=seats, turns=[TurnState(1, 3, TurnReason.DRAW)])
    turn = TurnState(1, 3, TurnReason.DRAW)
    system, user = prompts.member_messages(table, turn)
    assert system["content"].endswith(
        'You are "Hana Kubo". You are a witness: Hana Kubo looks at what others leave out, number 3.'
    )
    assert "verdict" not in user["content"].rpartition("<Floor")[2]
    assert list(prompts.answer_schema(table, turn)["properties"]) == ["speaking_to", "content", "points"]
    answer = prompts.read_answer(table, turn, '{"content": "I saw her there."}')
    table = said(table, turn, answer)
    assert own(prompts.member_messages(table, turn)) == [
        {"speaking_to": ["everyone"], "content": "I saw her there.", "points": []}
    ]
    assert [seat.seat for seat in table.course.voters] == [1, 2]


def test_who_opens_hears_the_opening_note_and_nothing_else():
    table = noted(opened(3), AddTimekeeperNote(NoteKind.OPENING, 0))
    conversation = prompts.member_messages(table, next_turn(table))
    assert roles(conversation) == ["system", "user"]
    read, _, floor_of = conversation[1]["content"].partition("END MATERIAL")
    assert "Whom does the institute take" in read
    [note] = [one for one in parsed(conversation) if one.tag == "Note"]
    assert (note.attrib["kind"], note.findtext("Speaker")) == ("opening", "Timekeeper")
    assert "<Message" not in floor_of
    assert 'why="draw"' in floor_of.rpartition("<Floor ")[2]
