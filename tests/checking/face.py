"""A procedure in a few lines: what it takes to have every door."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from engine.evidence.chain import Draft as Told
from engine.evidence.entries import ATTEMPT, SUBMITTED
from engine.evidence.guards import Guard, Rule
from engine.evidence.told import Said
from engine.models import DocumentLimits, ModelCall
from runs.api import schemas
from runs.face import STANDINGS, Face, Snapshot
from runs.fragments import Fragment
from runs.redaction import redact_due
from runs.stamps import Stamp, stamp_of
from runs.waits import Wait

from . import procedure, rules
from .models import Check, Draft, Report, Summary


@dataclass(frozen=True)
class Display:
    id: str
    title: str
    question: str
    state: str
    word: str
    wait: Wait | None
    stamp: Stamp | None
    draft: str | None
    finding: str | None
    summary: str | None
    over: bool

    @property
    def announcement(self) -> str:
        return self.word

    @property
    def final(self) -> bool:
        return self.over


def display_of(seen: Snapshot[Check]) -> Display:
    check, run = seen.row, seen.run
    draft, report, summary = (check.part(name) for name in ("draft", "report", "summary"))
    state, word = ("approve", run.outcome) if run.outcome else STANDINGS[run.status]
    return Display(
        str(run.pk),
        run.shown_title,
        check.question,
        state,
        word,
        seen.wait,
        stamp_of(run, word, "", lambda outcome: "approve"),
        draft and draft.text,
        report and report.finding,
        summary and summary.text,
        run.over,
    )


class CheckObject(schemas.Run):
    question: str
    draft: str | None


class Checking(Face[Check, Display]):
    noun, nouns = "check", "checks"
    schema = CheckObject
    outcomes = tuple(rules.Outcome)
    documents = DocumentLimits(number=2, size=1_000, characters=200)
    rehearsals = {
        "draft": lambda messages: '{"text": "Because it is so."}',
        "summary": lambda messages: '{"text": "It is so."}',
        "finding": lambda messages: (
            '{"text": "doubtful"}' if "?" not in messages[-1]["content"].partition("\n\n")[2] else '{"text": "sound"}'
        ),
    }
    chores = (redact_due,)
    guards = {
        guard.table: guard
        for guard in (
            Guard(
                "checking_check",
                key="run_id",
                key_is_number=False,
                run="OLD.run_id",
                rules=(Rule("kept", kept=("run_id", "writer", "checker"), erased=("question",)),),
            ),
            Guard(
                "checking_draft",
                run="OLD.subject_id",
                rules=(Rule("kept", kept=("id", "subject_id", "call_id"), erased=("text",)),),
            ),
            Guard("checking_report"),
            Guard(
                "checking_summary",
                run="OLD.subject_id",
                rules=(Rule("kept", kept=("id", "subject_id", "call_id"), erased=("text",)),),
            ),
        )
    }
    perform = staticmethod(procedure.check)

    def rows(self) -> QuerySet[Check]:
        return Check.objects.whole()

    def calls(self, row: Check) -> list[ModelCall]:
        return list(row.run.calls.order_by("pk").defer("prompt", "answer"))

    def facts(self, row: Check) -> dict[str, Any]:
        return {"question": row.question, "draft": getattr(row, "draft", None) and row.draft.text}

    def estimate(self, row: Check) -> int:
        return 0

    def display(self, seen: Snapshot[Check]) -> Display:
        return display_of(seen)

    def fragments(self, display: Display) -> Iterator[Fragment]:
        shown = {"display": display}
        yield Fragment("runs/fragments", "plate", shown)
        yield Fragment("runs/fragments", "stamp", shown)
        yield Fragment("runs/fragments", "wait", shown)
        yield Fragment("checks/fragments", "draft", shown, settled=display.draft is not None)
        yield Fragment("checks/fragments", "report", shown, settled=display.finding is not None)
        yield Fragment("checks/fragments", "summary", shown, settled=display.summary is not None)

    def tell(self, told: dict[UUID, Said], *, new: bool = False) -> None:
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
        if kept in set(rules.Finding):
            attempt.facts["finding"] = kept
        elif kept:
            attempt.texts["made"] = kept

    def erase(self, run: UUID) -> None:
        Check.objects.filter(pk=run).update(question="")
        Draft.objects.filter(subject=run).update(text="")
        Summary.objects.filter(subject=run).update(text="")
