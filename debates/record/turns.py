"""Who got the floor and why: every turn, and of each draw the tickets, so that it can be repeated."""

from collections import Counter
from dataclasses import dataclass

from ..models import DebateTurn
from ..models.visibility import seed_digest, visible_seed
from ..page.context import DebatePageContext
from ..page.sentences import count_noun
from ..rules import lottery
from ..rules.state import DRAWN, MemberStatus, TurnReason

TURN_REASONS = {
    TurnReason.ASKED: "asked by the chair",
    TurnReason.ROLL_CALL: "roll call: no verdict yet",
    TurnReason.CHALLENGE: "drawn for the challenge",
    TurnReason.CALL: "called: silent longest",
    TurnReason.DRAW: "drawn",
    TurnReason.CLOSING: "last word",
}


@dataclass(frozen=True)
class RecordedTurn:
    """One giving of the floor. `tickets`: of each seat in its order, where it was drawn, and `drawn` the one that came.
    `message` is what it brought; `skipped` why there is none."""

    number: int
    why: str
    tickets: str
    drawn: str
    name: str
    message: int | None
    skipped: str


@dataclass(frozen=True)
class RecordedTurns:
    """`seed` is empty until it is over. `text`: where it is from, and whether the draws come out again by it."""

    seats: int
    seed: str
    digest: str
    text: str
    given: tuple[RecordedTurn, ...]

    @property
    def counted(self) -> str:
        return count_noun(len(self.given), "turn")


def recorded_turns(scene: DebatePageContext) -> RecordedTurns:
    turns = sorted(scene.turns.values(), key=lambda one: one.number)
    messages = {message.turn_id: message.number for message in scene.messages if message.turn_id}
    given = tuple(_given(scene, turn, messages.get(turn.pk)) for turn in turns)
    seed = visible_seed(scene.debate)
    text = _comes_out(scene, turns) if seed else "The seed is told when the debate is over for good."
    return RecordedTurns(len(scene.seated), seed, seed_digest(scene.debate), text, given)


def _given(scene: DebatePageContext, turn: DebateTurn, message: int | None) -> RecordedTurn:
    shares = dict(map(tuple, turn.weights))
    tickets = " ".join(str(shares.get(one.seat, 0)) for one in scene.seated) if shares else ""
    skipped = "skipped" if turn.state == MemberStatus.SKIPPED else "" if message else "open"
    reason = f": {turn.reason_skipped}" if turn.reason_skipped and not scene.run.redacted else ""
    return RecordedTurn(
        number=turn.number,
        why=turn_reason(turn),
        tickets=tickets,
        drawn=f"{turn.ticket} of {turn.total}" if turn.ticket is not None else "",
        name=scene.name(scene.seats[turn.member_id]),
        message=message,
        skipped=f"{skipped}{reason}" if skipped else "",
    )


def turn_reason(turn: DebateTurn) -> str:
    if turn.why == TurnReason.REPLY:
        return f"asked by message {turn.asked_by}"
    return TURN_REASONS[TurnReason(turn.why)]


def _comes_out(scene: DebatePageContext, turns: list[DebateTurn]) -> str:
    """Every ticket, worked out anew by the seed."""
    drawn = [turn for turn in turns if turn.why in DRAWN]
    if not drawn:
        return "Nobody was drawn."
    seed = bytes.fromhex(scene.debate.seed)
    right = Counter(turn.total > 0 and turn.ticket == lottery.ticket(seed, turn.number, turn.total) for turn in drawn)
    if right[False]:
        return f"Of {count_noun(len(drawn), 'draw')}, {right[False]} do not come out by it."
    which = "the one draw comes" if len(drawn) == 1 else f"all {len(drawn)} draws come"
    return f"With it {which} out again, worked out just now; tools/verify.py does the same from the JSON record."
