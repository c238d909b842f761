"""What the pages of a debate say in sentences: how it stands, why it ended, and the newest that happened."""

from collections.abc import Iterable, Iterator, Sequence

from django.utils.dateformat import format as date_format

from engine.models import ModelCall, Run
from runs import formatting

from ..analysis.ends import absence_in_words, because_in_words, no_decision_in_words
from ..models import DebateMessage, SteeringAction
from ..prompt_context import NoteFacts
from ..prompts import note_sentences
from ..prompts.wording import count_noun as count_noun
from ..prompts.wording import in_words as in_words
from ..prompts.wording import join_names as join_names
from ..rules import state as rules
from ..rules.outcome import DebateOutcome, DecisionRule
from ..rules.outcome import needed as number_needed
from ..rules.state import ABSTAIN, NoteKind, StatementKind, SteeringKind, TurnReason, TurnState, VerdictChange
from ..rules.turn_taking import EndReason
from .context import DebatePageContext

ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()


def clock_time(scene: DebatePageContext) -> str:
    return f"{scene.run.ended:%H:%M:%S} UTC" if scene.run.ended else ""


# ---- under the plate --------------------------------------------------------------------------------------


ADVISES = "It advises: people decide."


def status_sentence(scene: DebatePageContext) -> tuple[str, str]:
    """Its strong beginning and the rest."""
    return _UNDER_PLATE[Run.Status(scene.run.status)](scene)


def _queued(scene: DebatePageContext) -> tuple[str, str]:
    if not scene.course.messages:
        return "", "Queued. It starts when a worker is free."
    return f"{newest_sentence(scene)}.", "Queued. It goes on when a worker is free."


def _running(scene: DebatePageContext) -> tuple[str, str]:
    if scene.course.because:
        done = sum(turn.state != rules.MemberStatus.OPEN for turn in scene.course.closings)
        asked = f"{done} of {count_noun(len(scene.course.closings), 'last word')} said."
        return sentence_of_because(scene), asked
    if not scene.course.messages:
        return "Before the debate.", _alone(scene)
    return f"{newest_sentence(scene)}.", f"{sentence_of_verdicts(scene)} {sentence_of_floor(scene)}".strip()


def _alone(scene: DebatePageContext) -> str:
    asked = [seat for seat in scene.course.voters if not seat.person]
    if not scene.course.settings.first or not asked:
        return "The timekeeper opens it."
    return f"Each member is asked alone: {len(scene.course.firsts)} of {len(asked)} have answered."


def _waiting(scene: DebatePageContext) -> tuple[str, str]:
    waited_for = awaited_sentence(scene)
    if not waited_for:
        return "", scene.run.why or "It waits, and goes on by itself."
    idle = "Nothing runs and nothing is spent meanwhile."
    if scene.run.wakes_at:
        return f"For {join_names(waited_for)},", f"until {date_format(scene.run.wakes_at, 'j M, H:i')} UTC. {idle}"
    return f"For {join_names(waited_for)}.", idle


def awaited_sentence(scene: DebatePageContext) -> Sequence[str]:
    """The persons who have the floor."""
    turns = scene.closing_turns or ([scene.open_turn] if scene.open_turn else [])
    return [scene.name(turn.seat) for turn in turns if scene.members[turn.seat].user_name]


def _finished(scene: DebatePageContext) -> tuple[str, str]:
    outcome = scene.debate.result(scene.course)
    because = sentence_of_because(scene)
    of_them = scene.course.because == EndReason.MOST  # the sentence counts them itself
    after = because if of_them else f"{because.removesuffix('.')}, after {count_noun(scene.course.clock, 'message')}."
    absent = sentence_of_absence(scene)
    if outcome.option:
        how = RULES[DecisionRule(scene.debate.rule)].lower()
        advises = f" {ADVISES}" if scene.debate.advisory else ""
        return f"{outcome.tally[outcome.option]} of {outcome.base} by {how}.", f"{after}{absent}{advises}"
    return no_decision_in_words(scene.debate.rule, outcome), f"{after}{absent}"


def _failed(scene: DebatePageContext) -> tuple[str, str]:
    message = (scene.run.error or {}).get("message", "")
    return f"Failed after {count_noun(scene.course.clock, 'message')}, without an outcome.", message


def _cancelled(scene: DebatePageContext) -> tuple[str, str]:
    kept = "" if scene.run.redacted else " All that was said is kept."
    by = formatting.user_label(scene.run.cancelled_by) or scene.run.cancelled_by_name
    when = f"Cancelled after {count_noun(scene.course.clock, 'message')}"
    return (when, f"by {by}. There is no outcome.{kept}") if by else (f"{when}.", f"There is no outcome.{kept}")


_UNDER_PLATE = {
    Run.Status.QUEUED: _queued,
    Run.Status.RUNNING: _running,
    Run.Status.WAITING: _waiting,
    Run.Status.FINISHED: _finished,
    Run.Status.FAILED: _failed,
    Run.Status.CANCELLED: _cancelled,
}


def newest_sentence(scene: DebatePageContext) -> str:
    return f"{scene.course.clock} of {count_noun(scene.course.most, 'message')}"


def sentence_of_verdicts(scene: DebatePageContext) -> str:
    course = scene.course
    members = [seat.seat for seat in course.voters]
    abstain = [seat for seat in members if course.verdict_of.get(seat) == ABSTAIN]
    have = sum(seat in course.verdict_of for seat in members) - len(abstain)
    if not have:
        sentence = "Nobody has a verdict yet"
    elif have == len(members):
        sentence = f"All {in_words(have)} have a verdict"
    else:
        sentence = f"{have} of {len(members)} {'has' if have == 1 else 'have'} a verdict"
    abstained = f"{in_words(len(abstain))} abstain{'s' if len(abstain) == 1 else ''}" if abstain else ""
    silent = course.silent - course.withdrawn
    gone = [abstained, _so_many(course.withdrawn, "withdrawn"), _so_many(silent, "fallen silent")]
    return f"{', '.join([sentence, *filter(None, gone)])}."


def _so_many(seats: Iterable[int], done: str) -> str:
    number = len(list(seats))
    return f"{in_words(number)} {'has' if number == 1 else 'have'} {done}" if number else ""


def sentence_of_floor(scene: DebatePageContext) -> str:
    turn = scene.open_turn
    return f"{scene.name(turn.seat)} {why_in_words(scene, turn)}." if turn else ""


def why_in_words(scene: DebatePageContext, turn: TurnState) -> str:
    """Why it has the floor, behind its name."""
    if turn.why == TurnReason.REPLY:
        return f"answers {asking_member(scene, turn)}"
    return _WHY[TurnReason(turn.why)]


def asking_member(scene: DebatePageContext, turn: TurnState) -> str:
    asked = scene.messages_by_number.get(turn.asked_by or 0)
    return scene.name(asked.seat) if asked else "the last message"


_WHY = {
    TurnReason.ASKED: "is asked by the chair",
    TurnReason.ROLL_CALL: "has no verdict and is called on to state one",
    TurnReason.CHALLENGE: "puts the case against what all believe",
    TurnReason.CALL: "has been silent longest and is called",
    TurnReason.DRAW: "was drawn and has the floor",
    TurnReason.CLOSING: "says a last word",
}


# ---- how it ends ------------------------------------------------------------------------------------------


def sentence_of_because(scene: DebatePageContext) -> str:
    """Why it has ended, or is closing; empty while it goes on."""
    return because_in_words(scene.course, scene.names)


RULES = {
    DecisionRule.PLURALITY: "Plurality",
    DecisionRule.MAJORITY: "Majority of all",
    DecisionRule.TWO_THIRDS: "Two thirds of all",
    DecisionRule.UNANIMOUS: "Unanimity",
    DecisionRule.MEDIAN: "Median",
    DecisionRule.NONE: "No rule",
}

COUNTED = (DecisionRule.MAJORITY, DecisionRule.TWO_THIRDS)


def sentence_of_absence(scene: DebatePageContext) -> str:
    """Who was missing, and what of it counts; begins with a space where there is anything to say."""
    said = absence_in_words(scene.course, scene.names)
    return f" {said}" if said else ""


def sentence_of_end(scene: DebatePageContext) -> str:
    """What the verdicts came to, by which rule."""
    outcome = scene.debate.result(scene.course)
    tally = ", ".join(f"{option} {count}" for option, count in outcome.tally.items())
    by = (
        f"By {RULES[DecisionRule(scene.debate.rule)].lower()}"
        if scene.debate.rule != DecisionRule.NONE
        else "By no rule"
    )
    end = f"{tally}. {by}: {outcome.option or 'no decision'}."
    return f"{end} {ADVISES}" if scene.debate.advisory and outcome.option else end


def sentence_of_rule(scene: DebatePageContext, outcome: DebateOutcome) -> tuple[str, str]:
    """The sentence under where they stand, in the same two parts."""
    rule = DecisionRule(scene.debate.rule)
    number = f" {outcome.base}:" if rule in COUNTED else ":"
    advises = f" {ADVISES}" if scene.debate.advisory else ""
    return f"{RULES[rule]}{number}", f"{votes_needed(rule, outcome)} {_now(scene, outcome)}".strip() + advises


def votes_needed(rule: DecisionRule, outcome: DebateOutcome) -> str:
    return {
        DecisionRule.PLURALITY: "the option with the most verdicts, two at the least.",
        DecisionRule.MAJORITY: f"an option needs {number_needed(rule, outcome)}.",
        DecisionRule.TWO_THIRDS: f"an option needs {number_needed(rule, outcome)}.",
        DecisionRule.UNANIMOUS: "all that do not abstain, two at the least.",
        DecisionRule.MEDIAN: "the verdict in the middle, by the order of the options.",
        DecisionRule.NONE: "the verdicts are not counted.",
    }[rule]


def _now(scene: DebatePageContext, outcome: DebateOutcome) -> str:
    if scene.debate.rule == DecisionRule.NONE:
        return ""
    if scene.run.outcome:
        return f"{outcome.option} has them." if outcome.option and scene.debate.rule in COUNTED else ""
    if outcome.option:
        return f"{outcome.option} would be decided if it ended now."
    return (
        "Who has no verdict at the end counts for none." if scene.course.undecided else "Nothing would be decided now."
    )


# ---- changes ----------------------------------------------------------------------------------------------


def sentence_of_named(scene: DebatePageContext, change: VerdictChange) -> str:
    if not change.moved_by:
        return "Named no message: a second thought."
    return f"Named {messages_named(scene, change.moved_by)}."


def messages_named(scene: DebatePageContext, numbers: Sequence[int]) -> str:
    """As in "message 45 of Ilse Brandt"."""
    return join_names(f"message {number} of {_speaker(scene, number)}" for number in numbers)


def _speaker(scene: DebatePageContext, number: int) -> str:
    message = scene.messages_by_number.get(number)
    if message is None or message.sort == StatementKind.CHAIR:
        return "the chair"
    return scene.name(message.seat) if message.seat else "the timekeeper"


# ---- the timekeeper and the chair -------------------------------------------------------------------------


def note_lead(note: str) -> str:
    return "Timekeeper, deadline." if note == NoteKind.DEADLINE else "Timekeeper."


def sentence_of_note(scene: DebatePageContext, message: DebateMessage) -> str:
    """Its facts, and what a model made of them."""
    facts = NoteFacts(**message.facts) if message.facts else None
    return " ".join(filter(None, [note_sentences(message.note, facts, scene.names) if facts else "", message.content]))


def acts_in_words(scene: DebatePageContext) -> Iterator[tuple[SteeringAction, str, str]]:
    """Each act in its order, with who did it and what."""
    most = scene.course.settings.most
    for steer in sorted(scene.debate.steers.all(), key=lambda one: one.number):
        most += steer.amount if steer.act == SteeringKind.EXTEND else 0
        yield steer, _lead_of_act(scene, steer), _sentence_of_act(scene, steer, min(most, rules.MOST))


def _lead_of_act(scene: DebatePageContext, steer: SteeringAction) -> str:
    """The timekeeper gives up a seat whose account has ended; all else is done by people."""
    if steer.act == SteeringKind.WITHDRAW:
        return scene.name(scene.seats.get(steer.member_id or 0))
    if steer.act == SteeringKind.LOOK:
        return steer.by_name
    keeps_time = steer.act == SteeringKind.GIVE_UP and steer.by_id is None and steer.by_name == scene.members[0].name
    return f"{steer.by_name}:" if keeps_time else f"{steer.by_name}, chair:"


def _sentence_of_act(scene: DebatePageContext, steer: SteeringAction, most: int) -> str:
    name = scene.name(scene.seats.get(steer.member_id or 0))
    if steer.act == SteeringKind.WITHDRAW:
        return sentence_of_leaving(steer.said_in(scene.debate))
    if steer.act == SteeringKind.EXTEND:
        return f"{count_noun(steer.amount, 'message')} more: up to {most}."
    return _STEERED[SteeringKind(steer.act)].format(name=name)


def sentence_of_leaving(verdict: str) -> str:
    """Return what follows the name of a member that leaves out of turn; without a verdict its last one stays."""
    stands = "abstaining" if verdict == ABSTAIN else f"supporting {verdict}" if verdict else ""
    return f"withdraws{f', {stands}' if stands else ''}."


_STEERED = {
    SteeringKind.ASK: "{name} has the floor next.",
    SteeringKind.CLOSE: "the debate is closed.",
    SteeringKind.CLOSE_AT_ONCE: "the debate is closed at once.",
    SteeringKind.END: "the debate is ended: no more last words are asked for.",
    SteeringKind.RECALL: "{name} is recalled.",
    SteeringKind.GIVE_UP: "{name} is given up.",
    SteeringKind.LOOK: "looks at what the members said alone.",
}


# ---- for people who hear the page -------------------------------------------------------------------------


def announcement(scene: DebatePageContext, word: str, lead: str, rest: str) -> str:
    """The newest thing that happened, and who has the floor since."""
    if scene.over:
        return " ".join(filter(None, [f"{word}.", lead, rest]))
    if not scene.run.started:
        return ""
    if scene.run.status == Run.Status.WAITING:
        return f"Waiting. {lead} {rest}"
    if scene.course.because:
        return f"Closing. {sentence_of_because(scene)}"
    turn = scene.open_turn
    if turn and (call := scene.retried(f"turn-{turn.number}")):
        return f"{scene.name(turn.seat)} did not answer. {retry_in_words(scene, call)}."
    return f"{_newest(scene)} {sentence_of_floor(scene)}".strip()


def retry_in_words(scene: DebatePageContext, failed: ModelCall) -> str:
    if failed.waits:
        return "Waits for its model"
    retry = scene.retries.get(failed.step)
    return retry.heading if retry else "Is asked again"


def _newest(scene: DebatePageContext) -> str:
    if not scene.course.messages:
        return "The members are asked alone."
    last = scene.course.messages[-1]
    if last.sort == StatementKind.NOTE:
        return _newest_note(scene, last)
    if change := scene.changes.get(last.number):
        return f"{scene.name(change.seat)} changes to {scene.option_style(change.verdict).word}."
    name = scene.name(last.seat) if last.seat else "The chair"
    if last.sort == StatementKind.LEAVING:
        return f"{name} {sentence_of_leaving(scene.verdict_at(last.number))}"
    return f"{name} speaks to {addressee_text(scene, last.to)}."


def _newest_note(scene: DebatePageContext, last: rules.MessageState) -> str:
    if last.note == NoteKind.OPENING:
        return "The debate begins."
    kind = "Deadline" if last.note == NoteKind.DEADLINE else "Reminder"
    before = scene.changes.get(last.number - 1)
    moved = f"{scene.name(before.seat)} changes to {scene.option_style(before.verdict).word}. " if before else ""
    return f"{moved}{kind}: {last.after} of {count_noun(scene.course.most, 'message')}."


def addressee_text(scene: DebatePageContext, seats: Sequence[int]) -> str:
    return join_names(scene.name(seat) for seat in seats) if seats else "everyone"
