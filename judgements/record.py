"""The record: all that happened in a judgement, as a page to read and print and as a file to keep."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.db.models import Exists
from django.utils.dateformat import format as date_format

from engine.evidence import bundles, signing
from engine.evidence.bundles import Tree
from engine.evidence.chain import canonical
from engine.evidence.checkpoints import Checkpoint
from engine.evidence.entries import ADOPTED
from engine.evidence.entries import Entry as Sealed
from engine.evidence.findings import Fault
from engine.evidence.log import Leaf
from engine.evidence.verification import verify_one
from engine.llm.prices import dollars
from engine.llm.providers import is_rehearsal
from engine.models import ModelCall, Review
from engine.version import VERSION
from runs.redaction import Redaction, redactions_of

from . import rules
from .display import ERASED, Cell, Display, Seat, display_of
from .models import Judgement

RECORD_FORM = "magi-record/1"
STATUS = {"open": "under way", "answered": "answered", "failed": "failed", "interrupted": "interrupted"}


@dataclass(frozen=True)
class Attempt:
    heading: str
    error: str
    facts: str
    messages: list[dict[str, str]]
    answer: str


@dataclass(frozen=True)
class RecordedRound:
    cell: Cell
    facts: str
    attempts: tuple[Attempt, ...]

    @property
    def plain(self) -> bool:
        """One attempt that gave the decision: there is nothing to tell of it but what was asked and answered."""
        return len(self.attempts) == 1 and self.cell.decided


@dataclass(frozen=True)
class RecordedAgent:
    seat: Seat
    rounds: tuple[RecordedRound, ...]


@dataclass(frozen=True)
class ShownReview:
    """What a person said of it: a note, or an override."""

    head: str
    text: str
    override: bool


@dataclass(frozen=True)
class Record:
    display: Display
    summary: str
    redactions: tuple[str, ...]
    reviews: tuple[ShownReview, ...]
    agents: tuple[RecordedAgent, ...]
    provenance: tuple[tuple[str, str], ...]


def record_of(judgement: Judgement, calls: list[ModelCall]) -> Record:
    """The record of a judgement read with `whole()`; `calls` are all its model calls, oldest first."""
    display = display_of(judgement, calls, {})
    by_step = defaultdict(list)
    for call in calls:
        by_step[call.step].append(call)
    return Record(
        display=display,
        summary=_summary(judgement, display),
        redactions=tuple(map(_redaction, _redactions(judgement))),
        reviews=tuple(map(_review, judgement.run.reviews.all())),
        agents=tuple(
            RecordedAgent(seat, tuple(_rounds(seat, [by_step[agent.step(number)] for number in rules.ROUNDS])))
            for seat, agent in zip(display.seats, judgement.agents.all(), strict=True)
        ),
        provenance=tuple((name, value) for name, value in _provenance(judgement, display, calls) if value),
    )


def record_line(pk: UUID) -> str:
    """The same for software, as docs/audit.md describes it."""
    return next(record_lines([pk], bundles.tree()))


def record_lines(pks: Sequence[UUID], tree: Tree | None) -> Iterator[str]:
    """A line for each of these judgements; `tree` is the log that the proofs lead to."""
    evidence = bundles.evidence_of(pks, tree)
    yield from (f"{canonical(record_object(pk, evidence[pk]))}\n" for pk in pks)


def record_object(pk: UUID, evidence: dict[str, Any]) -> dict[str, Any]:
    """Each fact once: all that can be read of the judgement stands in the entries, which are verified."""
    sealed = [entry["hash"] for entry in evidence["entries"] if entry["hash"]]
    return {
        "form": RECORD_FORM,
        "id": str(pk),
        "log": signing.name(),
        "key": signing.verifier_key(),
        "record_hash": sealed[-1] if sealed else None,
        **evidence,
    }


def _redactions(judgement: Judgement) -> list[Redaction]:
    return redactions_of(judgement.pk) if judgement.run.redacted else []


# ---- sentences --------------------------------------------------------------------------------------------


def _summary(judgement: Judgement, display: Display) -> str:
    said = " ".join(part for part in (display.lead, display.rest) if part)
    if not display.over:
        return f"Still under way: this record is not complete and there is no verdict. {said}"
    when = _when(judgement.run.started, judgement.run.ended)
    if judgement.run.outcome:
        return f"{display.lead.removesuffix('.')}; {rules.QUORUM} are needed. Judged {when}."
    return f"{said} It ran {when}." if when else said


def _redaction(one: Redaction) -> str:
    """By whom, when and why its texts were erased. A person's reason may have its own full stop."""
    return f"{_moment(one.at)}, by {one.by or 'the command line'}. Reason: {one.reason}"


def _when(started: datetime | None, ended: datetime | None) -> str:
    if not (started and ended):
        return ""
    day = "" if ended.date() == started.date() else f"{date_format(ended, 'j F Y')} at "
    return f"on {date_format(started, 'j F Y')} from {started:%H:%M:%S} to {day}{ended:%H:%M:%S} UTC"


def _moment(moment: datetime | None) -> str:
    return f"{date_format(moment, 'j M Y')}, {moment:%H:%M:%S} UTC" if moment else ""


def _provenance(judgement: Judgement, display: Display, calls: list[ModelCall]) -> Iterable[tuple[str, str]]:
    run, error = judgement.run, judgement.run.error
    yield "Judgement", str(judgement.pk)
    # as it is sealed: an account may be renamed
    yield "Asked by", run.asked_by or ("" if judgement.run.redacted else "the command line")
    yield "Council", str(judgement.council_version or "none, the agents were written for this judgement")
    weights = ", ".join(rules.tenths(weight) for weight in rules.WEIGHTS.values())
    yield "Procedure", f"Three rounds, weights {weights}"
    yield "Prompts", f"version {judgement.prompt_version}"
    yield "Models asked", _listed(call.model for call in calls)
    yield "Models answering", _listed(call.answered_by for call in calls)
    yield "Rehearsal", judgement.rehearsal_sentence
    yield "Used", display.used
    yield "Created", _moment(run.created)
    yield "Started", _moment(run.started)
    yield "Ended", _moment(run.ended)
    yield "Tried again", "" if not run.retries else "once" if run.retries == 1 else f"{run.retries} times"
    yield "Cancelled by", run.cancelled_by_name
    yield "Error", f"{error['message']} ({error['code']})".strip() if error else ""
    yield "Content", ERASED if judgement.run.redacted else f"sha256 {_digest(judgement.content)}"
    yield "Record", f"sha256 {judgement.record_hash}" if judgement.record_hash else ""
    yield "In the log", _place_in_log(judgement)
    yield "Record made by", f"magi {VERSION}"


@dataclass(frozen=True)
class Integrity:
    """Whether a record is what it was, worked out now. `sealed` is False for one that goes on."""

    faults: tuple[Fault, ...]
    sealed: bool
    entries: int
    redacted: bool
    place: str


def integrity_of(judgement: Judgement) -> Integrity:
    _, kept, faults = verify_one(judgement.pk)
    return Integrity(
        faults=tuple(faults),
        sealed=bool(kept.entries) and judgement.run.over,
        entries=len(kept.entries),
        redacted=bool(kept.redacted_up_to),
        place=_place_in_log(judgement),
    )


def _review(review: Review) -> ShownReview:
    decided = f"Override: {review.outcome}" if review.is_override else "Note"
    text = review.text or ERASED
    return ShownReview(f"{decided}, by {review.by}, {_moment(review.made)}", text, review.is_override)


def _place_in_log(judgement: Judgement) -> str:
    later = Exists(Sealed.objects.filter(run=judgement.pk, kind=ADOPTED))
    newest = Leaf.objects.filter(run=judgement.pk).order_by("-index").annotate(adopted=later)
    leaf, adopted = newest.values_list("index", "adopted").first() or (None, False)
    if leaf is None:
        return ""
    size = Checkpoint.objects.filter(size__gt=leaf).order_by("size").values_list("size", flat=True).first()
    covered = f"covered by checkpoint {size}" if size else "not yet in a checkpoint"
    when = ", sealed when the log began, later than it happened" if adopted else ""
    return f"leaf {leaf} of {signing.name()}, {covered}{when}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(filter(None, names)))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


# ---- rounds and attempts ----------------------------------------------------------------------------------


def _rounds(seat: Seat, calls_by_round: list[list[ModelCall]]) -> Iterable[RecordedRound]:
    for cell, calls in zip(seat.cells, calls_by_round, strict=True):
        if calls or cell.shown:
            yield RecordedRound(cell, _round_facts(cell, calls), tuple(_attempt(call) for call in calls))


def _round_facts(cell: Cell, calls: list[ModelCall]) -> str:
    attempts = f"{len(calls)} attempt{'' if len(calls) == 1 else 's'}"
    return ", ".join(part for part in (cell.seconds, attempts, *_used(calls)) if part)


def _used(calls: list[ModelCall]) -> list[str]:
    """Tokens and cost; nothing where no model was asked, or none is known to have read anything."""
    counted = [call for call in calls if call.input_tokens is not None and not is_rehearsal(call.model)]
    if not counted:
        return []
    about = "about " if any(call.estimated for call in counted) else ""
    tokens_in = sum(call.input_tokens or 0 for call in counted)
    tokens_out = sum(call.output_tokens or 0 for call in counted)
    costs = [call.cost for call in counted]
    cost = "cost unknown" if None in costs else dollars(sum(cost or 0 for cost in costs))
    return [f"{about}{tokens_in:,} tokens in, {tokens_out:,} out", cost]


def _attempt(call: ModelCall) -> Attempt:
    series = f" of retry {call.series}" if call.series else ""
    facts = [
        f"asked {call.model} ({call.answer_format})",
        f"answered by {call.answered_by}" if call.answered_by else "",
        _moment(call.started),
        f"{call.seconds:.1f} s" if call.seconds is not None else "",
        *_used([call]),
    ]
    return Attempt(
        heading=f"Attempt {call.attempt}{series}: {STATUS[call.status]}",
        error=call.error,
        facts=" · ".join(filter(None, facts)),
        messages=call.messages,
        answer=call.answer,
    )
