"""A procedure in a few lines: what it takes to have every door."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from engine.audit.entries_from_rows import RunEntries
from engine.ledger.entries import ATTEMPT, SUBMITTED
from engine.ledger.hashing import EntryDraft as Told
from engine.models import DocumentLimits, ModelCall
from runs.procedure import schemas
from runs.procedure.fragments import PageFragment
from runs.procedure.markers import OutcomeNote, outcome_note
from runs.procedure.spec import STATUS_LABELS, ProcedureSpec, RunSnapshot
from runs.procedure.wait_reason import WaitReason
from runs.record.redaction import redact_due

from . import procedure, rules
from .models import Check, Draft, Report, Summary


@dataclass(frozen=True)
class Display:
    id: str
    title: str
    question: str
    state: str
    word: str
    wait: WaitReason | None
    stamp: OutcomeNote | None
    draft: str | None
    finding: str | None
    summary: str | None
    is_ended: bool

    @property
    def announcement(self) -> str:
        return self.word

    @property
    def is_final(self) -> bool:
        return self.is_ended


def display_of(seen: RunSnapshot[Check]) -> Display:
    check, run = seen.row, seen.run
    draft, report, summary = (check.part(name) for name in ("draft", "report", "summary"))
    state, word = ("approve", run.outcome) if run.outcome else STATUS_LABELS[run.status]
    return Display(
        str(run.pk),
        run.shown_title,
        check.question,
        state,
        word,
        seen.wait,
        outcome_note(run, word, "", lambda outcome: "approve"),
        draft and draft.text,
        report and report.finding,
        summary and summary.text,
        run.is_ended,
    )


class CheckObject(schemas.RunOut):
    question: str
    draft: str | None


class Checking(ProcedureSpec[Check, Display]):
    noun, nouns = "check", "checks"
    schema = CheckObject
    outcomes = tuple(rules.CheckingOutcome)
    documents = DocumentLimits(number=2, size=1_000, characters=200)
    rehearsals = {
        "draft": lambda messages: '{"text": "Because it is so."}',
        "summary": lambda messages: '{"text": "It is so."}',
        "finding": lambda messages: (
            '{"text": "doubtful"}' if "?" not in messages[-1]["content"].partition("\n\n")[2] else '{"text": "sound"}'
        ),
    }
    chores = (redact_due,)
    perform = staticmethod(procedure.check)

    def rows(self) -> QuerySet[Check]:
        return Check.objects.whole()

    def calls(self, row: Check) -> list[ModelCall]:
        return list(row.run.calls.order_by("pk").defer("prompt", "answer"))

    def facts(self, row: Check) -> dict[str, Any]:
        return {"question": row.question, "draft": getattr(row, "draft", None) and row.draft.text}

    def estimate(self, row: Check) -> int:
        return 0

    def display(self, seen: RunSnapshot[Check]) -> Display:
        return display_of(seen)

    def fragments(self, display: Display) -> Iterator[PageFragment]:
        shown = {"display": display}
        yield PageFragment("runs/fragments", "plate", shown)
        yield PageFragment("runs/fragments", "stamp", shown)
        yield PageFragment("runs/fragments", "wait", shown)
        yield PageFragment("checks/fragments", "draft", shown, settled=display.draft is not None)
        yield PageFragment("checks/fragments", "report", shown, settled=display.finding is not None)
        yield PageFragment("checks/fragments", "summary", shown, settled=display.summary is not None)

    def build_entries(self, told: dict[UUID, RunEntries], *, new: bool = False) -> None:
        for check in Check.objects.filter(pk__in=list(told)):
            asked = told[check.pk][SUBMITTED][0]
            asked.facts |= {"writer": check.writer, "checker": check.checker}
            asked.texts["question"] = check.question
        by_call: dict[int, Any] = {}
        if not new:
            by_call |= {one.call_id: one.text for one in Draft.objects.filter(subject__in=list(told))}
            by_call |= {one.call_id: one.text for one in Summary.objects.filter(subject__in=list(told))}
            by_call |= {one.call_id: one.finding for one in Report.objects.filter(subject__in=list(told))}
        for said in told.values():
            for attempt in said[ATTEMPT]:
                self._tell(attempt, by_call.get(attempt.row or 0, ""))

    def _tell(self, attempt: Told, kept: str) -> None:
        if kept in set(rules.CheckFinding):
            attempt.facts["finding"] = kept
        elif kept:
            attempt.texts["made"] = kept

    def erase(self, run: UUID) -> None:
        Check.objects.filter(pk=run).update(question="")
        Draft.objects.filter(subject=run).update(text="")
        Summary.objects.filter(subject=run).update(text="")
