"""What somebody who owns the database could make the entries of a debate say, and what is then said of it."""

import json
from dataclasses import replace
from functools import cache

from debates.rules import turn_taking
from debates.rules.state import SteeringKind
from tests.debates.entries import entries_of
from tests.debates.plays import DebatePlay, course


def opinions(course, turn):
    """One asks, one decides only where it has to, one withdraws, and nobody agrees."""
    verdict = {1: "HIRE", 2: "LATER", 3: "", 4: "DECLINE"}[turn.seat]
    if turn.seat == 3 and turn.why in ("roll_call", "closing"):
        verdict = "HIRE"
    asks = turn.seat == 1
    return {
        "verdict": "" if course.verdict_of.get(turn.seat) == verdict else verdict,
        "to": (2,) if asks and 2 in course.active else (),
        "wants_answer": asks,
        "withdrawn": turn.seat == 4 and course.counts[4] == 2,
    }


def told(answer=opinions, steps=None, **settings):
    """The entries of a debate that was held to its end, with the chair asking once; no two of them share anything."""
    play = DebatePlay(course(4, **({"first": True, "most": 24} | settings)), answer)
    for _ in play.on():
        if play.course.clock == 6 and not play.course.steers:
            play.steer(SteeringKind.ASK, seat=2)
        if steps and len(play.steps) == steps:
            break
    return json.loads(json.dumps(entries_of(play)))


@cache
def _honest():
    return json.dumps(told())


def forged(forge):
    """The entries of an honest debate, after this."""
    entries = json.loads(_honest())
    forge(entries)
    return entries


def find(entries, kind, /, **facts):
    return next(one["facts"] for one in entries if one["kind"] == kind and facts.items() <= one["facts"].items())


def last(entries, kind, /, **facts):
    return find(entries[::-1], kind, **facts)


def drop(entries, kind, /, **facts):
    entries.remove(next(one for one in entries if one["facts"] is find(entries, kind, **facts)))


def add(entries, kind, /, **facts):
    entries.insert(-1, {"kind": kind, "facts": facts, "texts": {}})


def other_seed(entries):
    entries[-1]["facts"]["seed"] = "11" * 32


def other_word(entries):
    entries[0]["texts"]["word"] = "another word"
    entries[-1]["facts"]["seed_random"] = "22" * 32


def other_ticket(entries):
    turn = find(entries, "debate.turn", why="draw")
    turn["ticket"] = (turn["ticket"] + 1) % sum(share for _, share in turn["weights"])


def ticket_beyond_the_weights(entries):
    find(entries, "debate.turn", why="draw")["ticket"] = 1_000


def ticket_that_nobody_drew(entries):
    find(entries, "debate.turn", why="reply")["ticket"] = 3


def other_weights(entries):
    find(entries, "debate.turn", why="draw")["weights"] = [[seat, 10] for seat in (4, 3, 2, 1)]


def other_seat(entries):
    turn = find(entries, "debate.turn", why="draw")
    turn["seat"] = turn["seat"] % 4 + 1


def reply_called_a_draw(entries):
    find(entries, "debate.turn", why="reply")["why"] = "draw"


def draw_called_a_call(entries):
    find(entries, "debate.turn", why="draw")["why"] = "call"


def asked_by_another_message(entries):
    find(entries, "debate.turn", why="reply")["asked_by"] = 1


def asked_by_no_act(entries):
    find(entries, "debate.turn", why="asked")["steer"] = 7


def act_deleted(entries):
    drop(entries, "debate.steered")


def turn_deleted(entries):
    drop(entries, "debate.turn", number=3)


def turn_inserted(entries):
    turn = last(entries, "debate.turn", why="draw")
    add(entries, "debate.turn", **(turn | {"number": last(entries, "debate.turn")["number"] + 1}))


def closing_turn_taken_from_a_member(entries):
    number = last(entries, "debate.turn")["number"]
    drop(entries, "debate.turn", number=number)
    drop(entries, "debate.message", turn=number)
    drop(entries, "attempt", step=f"turn-{number}")


def message_deleted(entries):
    drop(entries, "debate.message", number=4)


def message_twice(entries):
    message = find(entries, "debate.message", number=4)
    add(entries, "debate.message", **(message | {"number": last(entries, "debate.message")["number"] + 1}))


def message_by_another_member(entries):
    message = find(entries, "debate.message", number=4)
    message["seat"] = message["seat"] % 4 + 1


def message_that_was_skipped(entries):
    add(entries, "debate.skipped", turn=2)


def skipped_for_an_answer(entries):
    message = last(entries, "debate.message", kind="closing")
    drop(entries, "debate.message", number=message["number"])
    add(entries, "debate.skipped", turn=message["turn"])


def clock_that_jumps(entries):
    find(entries, "debate.message", number=5)["clock"] = 9


def note_that_counts(entries):
    find(entries, "debate.note", after=4)["clock"] = 5


def note_left_out(entries):
    play = DebatePlay(course(4, most=24), opinions)
    next(step for step in play.on() if play.course.clock == 8)
    kept = replace(play.course.notes[-1], number=play.course.newest, after=8)
    play.take(turn_taking.next_step(replace(play.course, messages=[*play.course.messages, kept])))
    entries[:] = entries_of(play.to_the_end())


def note_at_a_wrong_moment(entries):
    find(entries, "debate.note", after=8)["after"] = 7


def deadline_called_a_reminder(entries):
    find(entries, "debate.note", after=20)["note"] = "reminder"


def first_verdict_deleted(entries):
    drop(entries, "debate.first", seat=3)
    drop(entries, "attempt", step="first-3")


def first_verdict_twice(entries):
    add(entries, "debate.first", **find(entries, "debate.first", seat=3))


def verdict_of_no_option(entries):
    find(entries, "debate.message", verdict="LATER")["verdict"] = "NEVER"


def verdict_and_abstention(entries):
    find(entries, "debate.message", verdict="LATER")["abstained"] = True


def roll_call_without_a_verdict(entries):
    turn = find(entries, "debate.turn", why="roll_call")
    find(entries, "debate.message", turn=turn["number"])["verdict"] = None


def withdrawn_without_a_verdict(entries):
    find(entries, "debate.message", seat=3)["withdrawn"] = True


def moved_by_itself(entries):
    message = last(entries, "debate.message", kind="said")
    message["moved_by"] = [message["number"]]


def moved_by_what_was_said_later(entries):
    find(entries, "debate.message", number=5)["moved_by"] = [12]


def moved_by_a_note(entries):
    find(entries, "debate.message", number=5)["moved_by"] = [1]


def heard_before_the_floor_was_given(entries):
    find(entries, "debate.message", number=9)["heard"] = 3


def continuation_of_another_member(entries):
    message = find(entries, "debate.message", number=5)
    message |= {"continues": 4, "clock": None}


def verdict_turned_round(entries):
    find(entries, "debate.message", verdict="LATER")["verdict"] = "HIRE"


def verdict_given_back(entries):
    find(entries, "debate.message", verdict="LATER")["verdict"] = None


def tally_of_other_verdicts(entries):
    entries[-1]["facts"]["tally"][0][1] += 1


def smaller_base(entries):
    entries[-1]["facts"]["base"] -= 1


def other_outcome(entries):
    entries[-1]["facts"] |= {"outcome": "DECLINE", "no_decision": ""}


def other_reason_for_none(entries):
    entries[-1]["facts"]["no_decision"] = "tie"


def other_rule(entries):
    entries[0]["facts"]["rule"] = "plurality"


def more_messages_allowed(entries):
    entries[0]["facts"]["most"] = 60


def ended_by_agreement(entries):
    entries[-1]["facts"]["because"] = "agreed"


def ended_too_early(entries):
    entries[:] = [*told(steps=20), entries[-1]]


def outcome_of_a_failure(entries):
    entries[-1]["facts"]["status"] = "failed"


def message_after_the_end(entries):
    entries.append({"kind": "debate.spoken", "facts": {"number": 99}, "texts": {}})


def act_after_the_closing_began(entries):
    newest = last(entries, "debate.message")["number"]
    act = find(entries, "debate.steered")
    add(entries, "debate.steered", **(act | {"number": 2, "act": "give_up", "seat": 1, "after": newest}))


def more_time_than_there_is(entries):
    act = find(entries, "debate.steered")
    add(entries, "debate.steered", **(act | {"number": 2, "act": "extend", "seat": None, "amount": 7}))


def member_withdrawn_by_somebody_else(entries):
    act = find(entries, "debate.steered")
    add(entries, "debate.steered", **(act | {"number": 2, "act": "withdraw", "seat": 1}))


def look_at_what_was_shown_to_all(entries):
    act = find(entries, "debate.steered")
    add(entries, "debate.steered", **(act | {"number": 2, "act": "look", "seat": None}))


def answer_of_nobody(entries):
    message = find(entries, "debate.message", number=5)
    message["attempts"] = []
    drop(entries, "attempt", step=f"turn-{message['turn']}")


def answer_that_was_left_out(entries):
    add(entries, "attempt", step="turn-3", series=0, attempt=2, status="answered")


def nonsense(entries):
    entries[3]["facts"] = {}


def note_that_miscounts(entries):
    find(entries, "debate.note", after=8)["facts"]["left"] = 3


def note_that_hides_who_has_none(entries):
    find(entries, "debate.note", after=4)["facts"]["undecided"] = []


def note_with_a_time_that_was_never_set(entries):
    find(entries, "debate.note", after=8)["facts"]["minutes"] = 30


def fewer_messages_at_the_end(entries):
    entries[-1]["facts"]["messages"] -= 1


def fewer_turns_at_the_end(entries):
    entries[-1]["facts"]["turns"] -= 1


def changes_hidden_at_the_end(entries):
    entries[-1]["facts"]["changes"] += 1


def member_called_silent_at_the_end(entries):
    entries[-1]["facts"]["silent"] = [2]


FORGED = {
    note_that_miscounts: "facts of note .* are not those of its moment",
    note_that_hides_who_has_none: "facts of note .* are not those of its moment",
    note_with_a_time_that_was_never_set: "time left where there is no such end",
    fewer_messages_at_the_end: "other messages than there are",
    fewer_turns_at_the_end: "other turns than there are",
    changes_hidden_at_the_end: "other changes than there are",
    member_called_silent_at_the_end: "other silent than there are",
    other_seed: "seed is not the one",
    other_word: "seed does not come from what was drawn",
    other_ticket: "ticket of turn 1 is not the one",
    ticket_beyond_the_weights: "ticket of turn 1 is not the one",
    ticket_that_nobody_drew: "was given to",
    other_weights: "weights of turn 1",
    other_seat: "by whom turn 1 was given to",
    reply_called_a_draw: "given as “draw”, by the rules it is “reply”",
    draw_called_a_call: "given as “call”, by the rules it is “draw”",
    asked_by_another_message: "given as “reply”",
    asked_by_no_act: "given as “asked”",
    act_deleted: "given as “asked”",
    turn_deleted: "turns are not numbered",
    turn_inserted: "after the closing had begun",
    closing_turn_taken_from_a_member: "closing began where the rules do not end it",
    message_deleted: "messages are not numbered",
    message_twice: "no turn of its own",
    message_by_another_member: "is not by whom turn",
    message_that_was_skipped: "Turn 2 was skipped, and there is none",
    skipped_for_an_answer: "was not kept",
    clock_that_jumps: "clock of message 5 is 9, by the rules 4",
    note_that_counts: "clock of message .* by the rules None",
    note_left_out: "a note was due after 8 messages",
    note_at_a_wrong_moment: "a reminder after 7, by the rules a reminder after 8",
    deadline_called_a_reminder: "reminder after 20, by the rules a deadline after 20",
    first_verdict_deleted: "first verdicts were due",
    first_verdict_twice: "two first verdicts",
    verdict_of_no_option: "a verdict that there is not",
    verdict_and_abstention: "a verdict that there is not",
    roll_call_without_a_verdict: "without a verdict, where one had to be stated",
    withdrawn_without_a_verdict: "withdraws without a verdict",
    moved_by_itself: "had not heard from others",
    moved_by_what_was_said_later: "had not heard from others",
    moved_by_a_note: "had not heard from others",
    heard_before_the_floor_was_given: "had not heard from others",
    continuation_of_another_member: "part two",
    verdict_turned_round: ".",
    verdict_given_back: ".",
    tally_of_other_verdicts: "tally is not that",
    smaller_base: "tally is not that",
    other_outcome: "outcome is DECLINE, by the rule it is",
    other_reason_for_none: "outcome is",
    other_rule: "outcome is",
    more_messages_allowed: "closing began where the rules do not end it",
    ended_by_agreement: "closing began where the rules do not end it",
    ended_too_early: "where the rules go on",
    outcome_of_a_failure: "and was failed",
    message_after_the_end: "after its end",
    act_after_the_closing_began: "after the closing had begun",
    more_time_than_there_is: "gives 7 messages more",
    member_withdrawn_by_somebody_else: "for somebody else",
    look_at_what_was_shown_to_all: "from whom nothing was hidden",
    answer_of_nobody: "no answer of its member's model",
    answer_that_was_left_out: "answer of turn-3 was not kept",
    nonsense: "cannot be read",
}
