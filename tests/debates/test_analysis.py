from dataclasses import replace
from random import Random

import pytest

from debates.analysis import (
    ArgumentSource,
    ArgumentState,
    ConformityShare,
    IndependentVoices,
    analyse,
    first_to_withdraw,
    habits,
    positions_kept,
    voices_by_model,
    voices_from_history,
)
from debates.prompt_context import PromptPoint
from debates.rules.state import (
    ABSTAIN,
    FirstStatement,
    MemberStatus,
    MessageState,
    StatementKind,
    SteeringKind,
    SteeringState,
    TurnReason,
    TurnState,
)
from tests.debates.held import MessageWords, chaired, heard, now, opened, with_course, with_settings

HIRE, LATER, NO = "HIRE", "HIRE ON CONDITIONS", "DO NOT HIRE"
FOR_HIRE = PromptPoint("She leads large groups", HIRE, "for")
AGAINST_HIRE = PromptPoint("She has never led anybody", HIRE, "against")
FOR_NO = PromptPoint("The post can wait", NO, "for")


def begun(*firsts, members=3):
    """Before anybody has spoken; what each stood by alone, in the order of the seats."""
    return with_course(
        opened(members), firsts=[FirstStatement(seat, verdict) for seat, verdict in enumerate(firsts, 1)]
    )


def say(
    table, seat, verdict="", *points, moved_by=(), why=TurnReason.DRAW, content="As I see it.", reasoning="", **changed
):
    course = table.course
    turn = TurnState(len(course.turns) + 1, seat, why, course.newest, MemberStatus.SPOKEN)
    said = MessageState(
        number=course.newest + 1,
        sort=StatementKind.CLOSING if why == TurnReason.CLOSING else StatementKind.SAID,
        seat=seat,
        clock=None if why == TurnReason.CLOSING else course.clock + 1,
        verdict=verdict,
        moved_by=moved_by,
        turn=turn.number,
        **changed,
    )
    table = with_course(table, turns=[*course.turns, turn])
    return heard(table, said, MessageWords(now(table), content, points, reasoning=reasoning))


def talked(table, *verdicts):
    """Each seat in turn says what it stands by."""
    for seat, verdict in enumerate(verdicts, 1):
        table = say(table, seat, verdict)
    return table


# ---- before and after -------------------------------------------------------------------------------------


def test_what_was_said_alone_comes_to_an_outcome_of_its_own():
    found = analyse(talked(begun(NO, NO, HIRE), HIRE, HIRE, HIRE)).alone
    assert (found.outcome.word, found.differs) == (NO, True)
    assert found.swayed == [1, 2]


def test_who_ends_where_it_began_is_not_swayed_whatever_it_said_between():
    found = analyse(talked(talked(begun(NO, NO, HIRE), HIRE, HIRE, HIRE), NO, NO, HIRE)).alone
    assert (found.swayed, found.differs) == ([], False)


def test_who_gave_no_first_verdict_is_missing_and_not_swayed():
    found = analyse(talked(begun("", NO, HIRE), HIRE, NO, HIRE)).alone
    assert (found.missing, found.swayed) == ([1], [])
    assert found.outcome.base == 3


@pytest.mark.parametrize("firsts", [(), ("", "", "")], ids=["not asked", "none answered"])
def test_without_first_verdicts_nothing_is_said_of_them(firsts):
    assert analyse(talked(begun(*firsts), HIRE, NO, HIRE)).alone is None


def test_an_abstention_alone_is_a_verdict_that_one_can_leave():
    assert analyse(talked(begun(ABSTAIN, NO, NO), NO, ABSTAIN, NO)).alone.swayed == [1, 2]


def test_stages_say_who_stood_where_at_each_deadline_and_at_the_end():
    table = begun(members=2)
    for _ in range(10):
        table = talked(table, HIRE, NO)
    found = analyse(say(say(table, 1, NO), 2, LATER, why=TurnReason.CLOSING)).stages
    assert [(stage.clock, stage.stood) for stage in found] == [(20, {1: HIRE, 2: NO}), (21, {1: NO, 2: LATER})]


# ---- changes ----------------------------------------------------------------------------------------------


def changed(*points, moved_by=()):
    """Two stand by HIRE; who stood by NO hears these points and joins them."""
    table = talked(begun(), HIRE, HIRE, NO)
    [found] = analyse(say(say(table, 1, "", *points), 3, HIRE, moved_by=moved_by)).changes
    return found


def test_who_names_a_message_and_heard_a_new_point_had_a_reason():
    found = changed(FOR_HIRE, moved_by=(4,))
    assert (found.to_majority, found.joined) == (True, False)
    assert (found.heard, found.points) == ([4], ["4.1"])


@pytest.mark.parametrize(
    ("points", "moved_by"), [((), (4,)), ((FOR_HIRE,), ()), ((), ())], ids=["nothing new", "nothing named", "neither"]
)
def test_who_names_nothing_or_heard_nothing_new_has_joined_the_majority(points, moved_by):
    assert changed(*points, moved_by=moved_by).joined


def test_who_goes_against_the_majority_joins_nobody():
    table = talked(begun(), HIRE, HIRE, HIRE)
    [found] = analyse(say(table, 3, NO)).changes
    assert (found.to_majority, found.joined) == (False, False)


def test_two_equal_sides_are_no_majority():
    table = talked(begun(members=5), HIRE, HIRE, NO, NO, LATER)
    [found] = analyse(say(table, 5, HIRE)).changes
    assert not found.to_majority


def test_those_who_abstain_are_no_majority():
    table = talked(begun(members=4), ABSTAIN, ABSTAIN, HIRE, NO)
    found = analyse(say(table, 4, ABSTAIN)).changes
    assert [change.to_majority for change in found] == [False]


def test_what_was_said_while_it_was_being_asked_was_not_heard():
    table = talked(begun(), HIRE, HIRE, NO)
    asked = with_course(table, turns=[*table.course.turns, TurnState(4, 3, TurnReason.DRAW, table.course.newest)])
    meanwhile = chaired(asked, "Be brief.")
    said = MessageState(meanwhile.course.newest + 1, StatementKind.SAID, 3, clock=4, verdict=HIRE, turn=4)
    [found] = analyse(heard(meanwhile, said, MessageWords(now(meanwhile), "I agree."))).changes
    assert found.heard == []


def test_a_share_of_few_changes_is_no_percentage():
    assert (ConformityShare(2, 3).percent, ConformityShare(0, 0).percent, ConformityShare(5, 10).percent) == (
        None,
        None,
        50,
    )


def test_conformity_counts_the_changes_that_joined():
    table = say(say(talked(begun(), HIRE, HIRE, NO), 3, HIRE), 1, NO)
    assert analyse(table).conformity == ConformityShare(1, 2)


def test_a_case_that_was_put_as_a_challenge_is_no_change():
    assert analyse(say(talked(begun(), HIRE, HIRE, HIRE), 1, NO, why=TurnReason.CHALLENGE)).changes == []


# ---- influence --------------------------------------------------------------------------------------------


def of_seats(table):
    return {one.seat: (one.named, one.followed) for one in analyse(table).influence}


def test_influence_is_how_often_one_was_named_and_what_came_right_after():
    table = say(talked(begun(), HIRE, HIRE, NO), 3, HIRE, moved_by=(1, 2))
    assert of_seats(table) == {1: (1, 1), 2: (1, 1), 3: (0, 0)}


def test_what_came_long_after_is_no_influence():
    table = talked(begun(members=5), HIRE, HIRE, HIRE, HIRE, NO)
    assert of_seats(say(table, 5, HIRE)) == {1: (0, 0), 2: (0, 1), 3: (0, 1), 4: (0, 1), 5: (0, 0)}


def test_a_word_of_the_chair_that_is_named_is_no_members_influence():
    table = chaired(talked(begun(), HIRE, HIRE, NO), "Think of the costs.")
    assert of_seats(say(table, 3, HIRE, moved_by=(4,)))[1] == (0, 1)


# ---- arguments --------------------------------------------------------------------------------------------


def answering(id, point):
    return replace(point, answers=id)


def hire_of(table):
    return next(sides for sides in analyse(table).arguments if sides.option == HIRE)


def test_points_stand_by_their_option_and_side():
    sides = hire_of(say(begun(), 1, HIRE, FOR_HIRE, AGAINST_HIRE, FOR_NO))
    assert [one.id for one in sides.for_it] == ["1.1"]
    assert [one.id for one in sides.against] == ["1.2"]
    assert sides.for_it[0].seat == 1


def test_a_point_stands_under_the_one_that_it_answers():
    table = say(say(begun(), 1, HIRE, FOR_HIRE), 2, NO, answering("1.1", AGAINST_HIRE))
    [argument] = hire_of(table).for_it
    assert argument.state == ArgumentState.ANSWERED
    assert [(one.id, one.seat, one.state) for one in argument.under] == [("2.1", 2, ArgumentState.OPEN)]
    assert hire_of(table).against == []


def test_who_says_the_same_again_has_not_answered_it():
    table = say(say(begun(), 1, HIRE, FOR_HIRE), 2, HIRE, answering("1.1", FOR_HIRE))
    assert hire_of(table).for_it[0].state == ArgumentState.OPEN


def test_who_answers_itself_with_the_contrary_takes_it_back():
    table = say(say(begun(), 1, HIRE, FOR_HIRE), 1, NO, answering("1.1", AGAINST_HIRE))
    assert hire_of(table).for_it[0].state == ArgumentState.TAKEN_BACK


def test_what_answers_itself_or_nothing_that_was_said_before_stands_alone():
    for place in ("1.1", "2.1", "9.9", ""):
        table = say(begun(), 1, HIRE, answering(place, FOR_HIRE))
        assert [one.state for one in hire_of(table).for_it] == [ArgumentState.OPEN]


def test_a_source_is_looked_up_word_by_word():
    for claim, document, line, expected in (
        ("In 2003 she led five", "A1", 4, ArgumentSource.FOUND),
        ("She has published a lot", "A1", 4, ArgumentSource.NOT_FOUND),
        ("In 2003 she led five", "A1", 99, ArgumentSource.NOT_FOUND),
        ("In 2003 she led five", "A9", 4, ArgumentSource.NOT_FOUND),
        ("In 2003 she led five", "", 0, ArgumentSource.OWN),
    ):
        point = PromptPoint(claim, HIRE, "for", document, line)
        assert hire_of(say(begun(), 1, HIRE, point)).for_it[0].source == expected


# ---- the minority -----------------------------------------------------------------------------------------


def dissent(table, outcome=HIRE, **leaving):
    return analyse(table, outcome, **leaving).minority


def test_every_other_verdict_stands_with_its_last_reasons():
    table = say(talked(begun(), HIRE, HIRE, NO), 3, NO, why=TurnReason.CLOSING, reasoning="It costs too much.")
    [found] = dissent(table)
    assert (found.seat, found.verdict, found.message, found.words) == (3, NO, 4, "It costs too much.")


def test_where_nothing_was_decided_every_verdict_is_one_of_them():
    assert [found.seat for found in dissent(talked(begun(), HIRE, LATER, NO), outcome="")] == [1, 2, 3]


def test_who_abstains_or_says_nothing_is_no_minority():
    assert dissent(talked(begun(), HIRE, ABSTAIN)) == []


def test_the_minority_keeps_what_nobody_answered_of_its_own():
    table = say(begun(), 3, NO, AGAINST_HIRE, FOR_NO, FOR_HIRE)
    table = say(table, 1, HIRE, answering("1.2", FOR_HIRE))
    [found] = dissent(table)
    assert [one.id for one in found.unanswered] == ["1.1"]


def test_without_a_reasoning_it_is_what_was_said_with_the_verdict():
    table = say(talked(begun(), HIRE, HIRE), 3, NO, content="I would wait.")
    assert dissent(table)[0].words == "I would wait."


def test_a_challenge_is_nobodys_last_word():
    table = say(talked(begun(), HIRE, HIRE, NO), 3, HIRE, why=TurnReason.CHALLENGE, content="Hire at once!")
    assert [(found.message, found.words) for found in dissent(table)] == [(3, "As I see it.")]


def test_who_left_out_of_turn_has_the_words_of_its_leaving():
    table = talked(begun(), HIRE, HIRE, HIRE)
    left = with_course(table, steers=[SteeringState(1, SteeringKind.WITHDRAW, 3, verdict=NO, after=3)])
    [found] = dissent(left, leaving={3: "I cannot stand for this."})
    assert (found.verdict, found.message, found.words) == (NO, None, "I cannot stand for this.")


# ---- voices -----------------------------------------------------------------------------------------------


def test_members_on_one_model_are_fewer_voices():
    found = {models: voices_by_model(models) for models in ("abcde", "aabcd", "aaaaa", "aabb")}
    assert found == pytest.approx({"abcde": 5, "aabcd": 25 / 7, "aaaaa": 1, "aabb": 2})


def held(debates, draw):
    die = Random(1)
    return [dict(enumerate(draw(die), 1)) for _ in range(debates)]


def alike(die):
    return [die.choice([HIRE, NO])] * 5


def apart(die):
    return [die.choice([HIRE, NO]) for _ in range(5)]


def test_too_few_debates_say_nothing():
    assert voices_from_history(held(7, apart)) == IndependentVoices(7, 5.0)
    assert voices_from_history([]) == IndependentVoices(0, 0.0)


def test_members_who_always_agree_are_one_voice():
    assert voices_from_history(held(40, alike)).count == pytest.approx(1)


def test_members_who_agree_by_chance_alone_are_all_voices():
    found = voices_from_history(held(400, apart))
    assert found.count == pytest.approx(5, abs=0.8)
    assert found.low <= found.count <= found.high <= 5


def test_the_same_debates_give_the_same_interval():
    debates = held(25, apart)
    assert voices_from_history(debates) == voices_from_history(debates)


def test_where_only_one_thing_was_ever_said_nobody_can_be_told_apart():
    assert voices_from_history(held(20, lambda die: [HIRE] * 5)).count == 1


def test_who_abstained_or_was_not_asked_is_no_pair():
    assert voices_from_history(held(30, lambda die: [HIRE, ABSTAIN, ""])) == IndependentVoices(0, 0.0)


# ---- a panel over time ------------------------------------------------------------------------------------


def test_habits_say_who_is_alone_changes_and_leaves_first():
    first = say(talked(begun(), HIRE, HIRE, NO), 3, "", withdrawn=True).course
    second = say(talked(begun(), HIRE, HIRE, NO), 2, NO, withdrawn=True).course
    found = [(one.debates, one.alone, one.changed, one.left_first) for one in habits([first, second])]
    assert found == [(2, 1, 0, 0), (2, 0, 1, 1), (2, 1, 0, 1)]
    renamed = replace(second, seats=[replace(one, name=f"New {one.seat}") for one in second.seats])
    apart = [(one.name, one.debates) for one in habits([first, renamed])]
    assert [(name.startswith("New"), debates) for name, debates in apart] == [(False, 1)] * 3 + [(True, 1)] * 3


def test_who_left_out_of_turn_may_have_been_the_first():
    table = say(talked(begun(), HIRE, HIRE, NO), 3, "", withdrawn=True)
    assert (
        first_to_withdraw(with_course(table, steers=[SteeringState(1, SteeringKind.WITHDRAW, 1, after=2)]).course) == 1
    )
    assert first_to_withdraw(begun().course) is None


def test_held_again_it_shows_what_stayed():
    earlier, later = talked(begun(), HIRE, HIRE, NO), talked(begun(), HIRE, NO)
    assert positions_kept(earlier.course, later.course) == {1: True, 2: False}


def test_an_empty_debate_has_an_analysis():
    found = analyse(with_settings(begun(), rule="none"))
    assert (found.changes, found.minority, [stage.stood for stage in found.stages]) == ([], [], [{}])
