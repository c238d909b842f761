"""The record of a run: everything that happened, as a page to read and print and as a line of JSON."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.db.models import Exists
from django.utils.dateformat import format as date_format

from engine.audit import bundles
from engine.audit.bundles import LogTree
from engine.audit.verification import verify_one
from engine.ledger import signing
from engine.ledger.checkpoints import Checkpoint
from engine.ledger.entries import ADOPTED, ENDED
from engine.ledger.entries import AuditEntry as Sealed
from engine.ledger.hashing import canonical
from engine.ledger.merkle_log import LogLeaf
from engine.ledger.report import VerificationFault
from engine.models import Document, Gate, GateDecision, ModelCall, Review, Run
from engine.plurals import counted
from engine.version import VERSION

from ..forking import forked
from ..formatting import came_to, format_seconds, format_token_split, format_usage, overridden, redacted, user_label
from ..live.related_runs import place_of
from ..procedure.spec import ProcedureSpec, spec_of_run
from ..procedure.tool_usage import ToolUseLine, tool_use_line
from .redaction import RedactionRecord, redactions_of

STATE_TEXT = {  # the state of a gate, in a record
    Gate.State.PENDING: "waits for an answer",
    Gate.State.VOID: "not asked any more",
    Gate.State.FAILED: "nobody decided",
}
DECISION_TEXT = {"approve": "approved", "reject": "rejected", "answer": "answered", "override": "overrode the council"}
DECISION_TEXT |= {"look": "looked at what the council says before it was shown", "expire": "let its time go by"}
DECISION_TEXT |= {"turn": "came to nothing, and persons were asked", "fail": "came to nothing"}


@dataclass(frozen=True)
class DecisionLine:
    head: str
    text: str


@dataclass(frozen=True)
class GateLine:
    heading: str
    facts: str
    text: str
    digest: str
    whole: str
    said: tuple[DecisionLine, ...]


def gate_line(gate: Gate) -> GateLine:
    title, state = gate.title or gate.step, STATE_TEXT.get(gate.State(gate.state), gate.state)
    again = f", asked again, number {gate.number}" if gate.number > 1 else ""
    digest = gate.digest if gate.text else ""
    said = tuple(_said(gate, one) for one in gate.decisions.all())
    return GateLine(f"{title}{again}: {state}", " · ".join(_facts(gate)), gate.text, digest, gate.whole, said)


def _facts(gate: Gate) -> Iterator[str]:
    yield f"gate {gate.pk}"
    if gate.needs_people:
        yield f"asked {user_label(gate.asked)}" if gate.asked else "asked the person who started it"
    if gate.policy.get("council"):
        yield f"asked the council {gate.policy['council']}"
    yield f"{gate.made:%d %b %Y, %H:%M:%S} UTC"
    if gate.used:
        yield f"used at {gate.used:%H:%M:%S} UTC"


def _said(gate: Gate, one: GateDecision) -> DecisionLine:
    who = user_label(one.by) if one.by else "Nobody"
    sentence = next((choice["sentence"] for choice in gate.choices if choice["word"] == one.choice), "")
    chosen = f": {sentence}" if sentence else ""
    text = one.text or (one.answer if isinstance(one.value, str) else "")
    return DecisionLine(
        f"{who} {DECISION_TEXT.get(one.decision, one.decision)}{chosen}, {one.made:%d %b %Y, %H:%M:%S} UTC", text
    )


RECORD_FORMAT = "magi-record/1"
ERASED_TEXT = "Erased."
STATUS = {"open": "under way", "answered": "answered", "failed": "failed", "interrupted": "interrupted"}


@dataclass(frozen=True)
class RecordAttempt:
    heading: str
    error: str
    facts: str
    messages: list[dict[str, str]]
    answer: str


@dataclass(frozen=True)
class RecordReview:
    """A note or an override."""

    head: str
    text: str
    override: bool


@dataclass(frozen=True)
class RunRecord:
    """The common part of every record."""

    overridden: str
    redacted: str
    redactions: tuple[str, ...]
    reviews: tuple[RecordReview, ...]
    provenance: tuple[tuple[str, str], ...]
    uses: tuple[ToolUseLine, ...] = ()
    gates: tuple[GateLine, ...] = ()


def record_of(row: Any, calls: list[ModelCall]) -> dict[str, Any]:
    """Return the context of the procedure's `_record.html` for a row that was read with `ProcedureSpec.rows`.

    It has the `record`, the `display` and what the procedure adds. `calls` are all model calls of the run, oldest
    first.
    """
    run = row.run
    face = spec_of_run(run)
    calls = face.calls_shown(row, calls)
    seen = face.snapshot(row, calls)
    display = face.display(seen)
    record = RunRecord(
        overridden=overridden(run),
        redacted=redacted(run),
        redactions=tuple(map(_redaction, redactions_of(run.pk) if run.redacted else [])),
        reviews=tuple(map(_review, run.reviews.all())),
        provenance=tuple((name, value) for name, value in _provenance(face, row, calls) if value),
        uses=tuple(map(tool_use_line, seen.uses)),
        gates=tuple(map(gate_line, seen.gates)),
    )
    return {"record": record, "display": display, **face.recorded(seen, display)}


def record_line(pk: UUID) -> str:
    """Return the record as JSON; docs/audit.md describes the format."""
    return next(record_lines([pk], bundles.tree()))


def record_lines(pks: Sequence[UUID], tree: LogTree | None) -> Iterator[str]:
    """Yield one line for each run; the proofs refer to `tree`."""
    evidence = bundles.evidence_of(pks, tree)
    yield from (f"{canonical(record_object(pk, evidence[pk]))}\n" for pk in pks)


def record_object(pk: UUID, evidence: dict[str, Any]) -> dict[str, Any]:
    """Build the JSON of the record. Each fact is in it once: all of them are in the entries, which are verified."""
    sealed = [entry["hash"] for entry in evidence["entries"] if entry["hash"]]
    return {
        "form": RECORD_FORMAT,
        "id": str(pk),
        "log": signing.name(),
        "key": signing.verifier_key(),
        "record_hash": sealed[-1] if sealed else None,
        **evidence,
    }


# ---- sentences --------------------------------------------------------------------------------------------


def format_interval(started: datetime | None, ended: datetime | None) -> str:
    """Format as in "on 6 May 2026 from 10:00:00 to 10:01:10 UTC"."""
    if not (started and ended):
        return ""
    day = "" if ended.date() == started.date() else f"{date_format(ended, 'j F Y')} at "
    return f"on {date_format(started, 'j F Y')} from {started:%H:%M:%S} to {day}{ended:%H:%M:%S} UTC"


def moment_in_words(moment: datetime | None) -> str:
    return f"{date_format(moment, 'j M Y')}, {moment:%H:%M:%S} UTC" if moment else ""


def _redaction(one: RedactionRecord) -> str:
    """Return when, by whom and why texts were erased. A person's reason may end with its own full stop."""
    return f"{moment_in_words(one.at)}, by {one.by or 'the command line'}. Reason: {one.reason}"


def _review(review: Review) -> RecordReview:
    decided = f"Override: {came_to(review.outcome)}" if review.is_override else "Note"
    text = review.text or ERASED_TEXT
    return RecordReview(f"{decided}, by {review.by}, {moment_in_words(review.made)}", text, review.is_override)


def _provenance(face: ProcedureSpec[Any, Any], row: Any, calls: list[ModelCall]) -> Iterable[tuple[str, str]]:
    run, error = row.run, row.run.error
    yield face.noun.capitalize(), str(run.pk)
    # as sealed: an account may be renamed
    yield "Asked by", run.asked_by or ("" if run.redacted else "the command line")
    yield "Made by", f"{run.parent_id}, {run.step}" if run.parent_id else ""
    # procedures that never wait create no child runs
    made = run.children.order_by("created", "pk") if face.waits else ()
    yield "Has made", ", ".join(f"{child.pk} ({child.step})" for child in made)
    if face.forks and (fork := forked(run)):
        yield "Forked from", f"{fork.origin_id}, {place_of(fork)} (entry {fork.entry}, {fork.hash})"
    yield from face.provenance(row)
    yield "Models asked", _listed(call.model for call in calls)
    yield "Models answering", _listed(call.answered_by for call in calls)
    yield "Rehearsal", face.rehearsal(row)
    yield "Requests cut", _cut([call for call in calls if call.left_out])
    yield "Used", format_usage(calls)
    yield "Created", moment_in_words(run.created)
    yield "Started", moment_in_words(run.started)
    yield "Ended", moment_in_words(run.ended)
    yield "Tried again", "" if not run.retries else "once" if run.retries == 1 else f"{run.retries} times"
    yield "Cancelled by", run.cancelled_by_name
    yield "Error", f"{error['message']} ({error['code']})".strip() if error else ""
    for name, text in face.prompts(row).items():
        yield name, ERASED_TEXT if run.redacted else f"sha256 {_digest(text)}"
    for document in run.documents.defer("text") if face.documents else ():
        yield f"Document {document.label}", ERASED_TEXT if run.redacted else _document(document)
    yield "Record", f"sha256 {row.record_hash}" if row.record_hash else ""
    yield "In the log", _place_in_log(run)
    yield "Record made by", f"magi {VERSION}"


def _document(document: Document) -> str:
    return f"{document.title}, {document.get_kind_display()}, sha256 {document.digest} of the file"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(filter(None, names)))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


# ---- integrity --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RecordIntegrity:
    """The result of verifying a record now.

    `sealed` is False while the run is not over. `since` is when its end was logged; later changes to it are detected.
    `signed` is when a checkpoint first covered it, with `others` further leaves; None until then.
    """

    faults: tuple[VerificationFault, ...]
    sealed: bool
    entries: int
    redacted: bool
    place: str
    since: datetime | None
    signed: datetime | None
    others: int


def integrity_of(run: Run) -> RecordIntegrity:
    _, kept, faults = verify_one(run.pk)
    ends = [seq for seq, kind, _, _ in kept.entries if kind == ENDED]
    leaf = kept.leaf_of(ends[-1]) if ends else None
    signed, others = _signature(leaf.index) if leaf else (None, 0)
    return RecordIntegrity(
        faults=tuple(faults),
        sealed=bool(kept.entries) and run.is_ended,
        entries=len(kept.entries),
        redacted=bool(kept.redacted_up_to),
        place=_place_in_log(run),
        since=leaf.at if leaf else None,
        signed=signed,
        others=others,
    )


def _signature(leaf: int) -> tuple[datetime | None, int]:
    """Return when a checkpoint first covered this leaf, and how many other leaves it was the first to cover."""
    over = Checkpoint.objects.filter(size__gt=leaf).order_by("size").first()
    if over is None:
        return None, 0
    before = Checkpoint.objects.filter(size__lte=leaf).order_by("-size").values_list("size", flat=True).first()
    return over.made, over.size - (before or 0) - 1


def _place_in_log(run: Run) -> str:
    later = Exists(Sealed.objects.filter(run=run.pk, kind=ADOPTED))
    newest = LogLeaf.objects.filter(run=run.pk).order_by("-index").annotate(adopted=later)
    leaf, adopted = newest.values_list("index", "adopted").first() or (None, False)
    if leaf is None:
        return ""
    size = Checkpoint.objects.filter(size__gt=leaf).order_by("size").values_list("size", flat=True).first()
    covered = f"covered by checkpoint {size}" if size else "not yet in a checkpoint"
    when = ", sealed when the log began, later than it happened" if adopted else ""
    return f"leaf {leaf} of {signing.name()}, {covered}{when}"


def _cut(short: list[ModelCall]) -> str:
    """Return how many requests were shortened, and what the last of them left out."""
    if not short:
        return ""
    number = "One request" if len(short) == 1 else f"{len(short)} requests"
    return f"{number} left something out; the last, in {short[-1].step}: {short[-1].left_out}"


# ---- attempts ---------------------------------------------------------------------------------------------


def attempt_of(call: ModelCall) -> RecordAttempt:
    heading, error, facts = attempt_text(call)
    return RecordAttempt(heading, error, facts, call.messages, call.answer)


def attempt_text(call: ModelCall) -> tuple[str, str, str]:
    """Return heading, error and facts of an attempt, without prompt and answer, which may be long."""
    series = f" of retry {call.series}" if call.series else ""
    facts = [
        f"asked {call.model} ({call.answer_format})",
        f"answered by {call.answered_by}" if call.answered_by else "",
        moment_in_words(call.started),
        f"{call.seconds:.1f} s" if call.seconds is not None else "",
        looked(call),
        *format_token_split([call]),
        call.left_out,
    ]
    heading = f"Attempt {call.attempt}{series}: {STATUS[call.status]}"
    return heading, call.error, " · ".join(filter(None, facts))


def looked(call: ModelCall) -> str:
    """Return how often and how long it was tried while the provider was unavailable."""
    if not call.looked_since:
        return ""
    end = call.started if call.status == ModelCall.Status.ANSWERED else call.ended or call.started
    return f"made {counted(call.looks, 'time')} in vain in {format_seconds(end - call.looked_since)} before"
