"""Reconstructs the state of a debate at any moment from its entries alone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from engine.ledger.entries import ATTEMPT, DECIDED, ENDED, SUBMITTED
from engine.models.forks import FORKED

from ..rules.state import (
    ABSTAIN,
    DebateSettings,
    DebateState,
    FirstStatement,
    MemberStatus,
    MessageState,
    SeatState,
    StatementKind,
    SteeringState,
    TurnReason,
    TurnState,
)

FIRST, TURN, SKIPPED = "debate.first", "debate.turn", "debate.skipped"
MESSAGE, NOTE, SPOKEN, STEERED = "debate.message", "debate.note", "debate.spoken", "debate.steered"
SPEAK_CHOICE = "speak"  # the choice of a person who speaks at its gate
UNKNOWN_CLAIM = (
    2**31
)  # a claim of the run in which no note was written; pauses between claims do not matter to the rules

Entry = Mapping[str, Any]


class ReconstructedDebate:
    """A debate read from its entries. While it is running the seed is secret, and `settings.seed` is empty."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries

    def from_entries(self, kind: str) -> list[Entry]:
        return [entry for entry in self.entries if entry["kind"] == kind]

    def facts(self, *kinds: str) -> list[dict[str, Any]]:
        return [entry["facts"] for entry in self.entries if entry["kind"] in kinds]

    @cached_property
    def prompt_of(self) -> dict[str, Any]:
        return self.facts(SUBMITTED)[0]

    @cached_property
    def carried(self) -> int:
        """Number of messages that come from the debate that this one was forked from. The answers to them are in
        the record of that one."""
        return int((self.prompt_of.get(FORKED) or {}).get("number", 0))

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """Texts of the submission, as far as they are not erased."""
        return self.from_entries(SUBMITTED)[0]["texts"]

    @cached_property
    def end(self) -> dict[str, Any] | None:
        """Facts of the last end; a retry undid those before it."""
        ends = self.facts(ENDED)
        return ends[-1] if ends else None

    @cached_property
    def settings(self) -> DebateSettings:
        asked = self.prompt_of
        return DebateSettings(
            options=tuple(option["word"] for option in asked["options"]),
            rule=asked["rule"],
            seed=bytes.fromhex((self.end or {}).get("seed", "")),
            most=asked["most"],
            **{name: asked[name] for name in ("reply", "call", "challenge", "first", "free_floor")},
        )

    @cached_property
    def seats(self) -> list[SeatState]:
        members = self.prompt_of["members"]
        return [SeatState(one["seat"], one["name"], one["kind"], bool(one["person"])) for one in members]

    @cached_property
    def firsts(self) -> list[FirstStatement]:
        return [FirstStatement(one["seat"], verdict_in(one)) for one in self.facts(FIRST)]

    @cached_property
    def messages(self) -> list[MessageState]:
        found = map(_message, [entry for entry in self.entries if entry["kind"] in (MESSAGE, NOTE, SPOKEN)])
        return sorted(found, key=lambda message: message.number)

    @cached_property
    def skipped(self) -> Counter[int]:
        return Counter(one["turn"] for one in self.facts(SKIPPED))

    @cached_property
    def message_in_turn(self) -> Mapping[int | None, list[MessageState]]:
        found: dict[int | None, list[MessageState]] = {}
        for message in self.messages:
            found.setdefault(message.turn, []).append(message)
        return found

    @cached_property
    def turns(self) -> list[TurnState]:
        """Turns in their current state."""
        found = [_turn(one) for one in self.facts(TURN)]
        return sorted((replace(one, state=self._state(one)) for one in found), key=lambda turn: turn.number)

    def _state(self, turn: TurnState) -> str:
        if turn.number in self.message_in_turn:
            return MemberStatus.SPOKEN
        return MemberStatus.SKIPPED if turn.number in self.skipped else MemberStatus.OPEN

    @cached_property
    def closings(self) -> list[TurnState]:
        return [turn for turn in self.turns if turn.why == TurnReason.CLOSING]

    @cached_property
    def steers(self) -> list[SteeringState]:
        found = (
            SteeringState(one["number"], one["act"], one["seat"], one["amount"], verdict_in(one), after=one["after"])
            for one in self.facts(STEERED)
        )
        return sorted(found, key=lambda steer: steer.number)

    @cached_property
    def attempts(self) -> Mapping[tuple[Any, ...], Entry]:
        """Requests to models, by step, series and attempt."""
        return {
            tuple(entry["facts"][name] for name in ("step", "series", "attempt")): entry
            for entry in self.from_entries(ATTEMPT)
        }

    @cached_property
    def spoken_turns(self) -> Mapping[str, Entry]:
        """Answers of persons at the gates of their turns, by step."""
        decided = [entry for entry in self.from_entries(DECIDED) if entry["facts"].get("choice") == SPEAK_CHOICE]
        return {entry["facts"]["step"]: entry for entry in decided}

    @cached_property
    def persons(self) -> frozenset[int]:
        """Seats of persons."""
        return frozenset(seat.seat for seat in self.seats if seat.person)

    def state(self) -> DebateState:
        """Return the state at the end, or as far as the entries go."""
        return DebateState(
            settings=self.settings,
            seats=self.seats,
            firsts=self.firsts,
            turns=self.turns,
            messages=self.messages,
            steers=self.steers,
            because=(self.end or {}).get("because", ""),
            claim=UNKNOWN_CLAIM,
            series=max([*(turn.series for turn in self.turns), (self.end or {}).get("retries", 0)]),
        )

    def before(self, number: int, after: int, acts: int) -> DebateState:
        """Return the state when turn `number` was given: messages up to `after`, and the first `acts` acts."""
        turns = [self._as_at(turn, after) for turn in self.turns if turn.number < number]
        steered = {turn.steer for turn in turns}
        steers = [replace(one, done=True) if one.number in steered else one for one in self.steers[:acts]]
        messages = [message for message in self.messages if message.number <= after]
        series = max((turn.series for turn in self.turns if turn.number <= number), default=0)
        return replace(self.state(), turns=turns, messages=messages, steers=steers, because="", series=series)

    def _as_at(self, turn: TurnState, after: int) -> TurnState:
        """Return the turn as it was after a message: open if its own message came later. A skipped turn ends before
        the next one starts."""
        said = self.message_in_turn.get(turn.number)
        return replace(turn, state=MemberStatus.OPEN) if said and said[0].number > after else turn

    def sure_acts(self, after: int) -> int:
        """Return the number of acts that were certainly known to a reader of message `after`."""
        return sum(steer.after < after for steer in self.steers)

    def possible_acts(self, after: int) -> int:
        """Return the number of acts that may have been known: the others may have come while the message was
        written."""
        return sum(steer.after <= after for steer in self.steers)


def verdict_in(facts: Mapping[str, Any]) -> str:
    return ABSTAIN if facts["abstained"] else facts["verdict"] or ""


def _turn(facts: Mapping[str, Any]) -> TurnState:
    known = {name: facts[name] for name in ("number", "seat", "why", "after", "series", "steer", "asked_by", "ticket")}
    return TurnState(weights=tuple((seat, share) for seat, share in facts["weights"]), **known)


def _message(entry: Entry) -> MessageState:
    facts = entry["facts"]
    if entry["kind"] == NOTE:
        return MessageState(
            facts["number"],
            StatementKind.NOTE,
            clock=facts["clock"],
            note=facts["note"],
            after=facts["after"],
            claim=facts["claim"],
        )
    to, wants = tuple(facts["speaking_to"]), facts["expects_answer"]
    if entry["kind"] == SPOKEN:
        return MessageState(facts["number"], StatementKind.CHAIR, clock=facts["clock"], to=to, wants_answer=wants)
    return MessageState(
        number=facts["number"],
        sort=facts["kind"],
        seat=facts["seat"],
        clock=facts["clock"],
        to=to,
        wants_answer=wants,
        verdict=verdict_in(facts),
        moved_by=tuple(facts["moved_by"]),
        withdrawn=facts["withdrawn"],
        continues=facts["continues"],
        turn=facts["turn"],
    )
