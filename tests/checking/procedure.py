from functools import partial

from engine.llm.response_format import ResponseFormat
from engine.runtime.procedure import CommitChange
from engine.runtime.run_context import RunContext

from . import prompts, rules
from .models import Check


def no_preview(text: str) -> str:
    return ""


def complaint(problem: str) -> str:
    return f"That could not be used: {problem}. Answer with JSON alone."


WRITTEN = ResponseFormat("draft", prompts.SCHEMA, prompts.read_draft, no_preview, complaint)
CHECKED = ResponseFormat("finding", prompts.SCHEMA, prompts.read_finding, no_preview, complaint)
SUMMED_UP = ResponseFormat("summary", prompts.SCHEMA, prompts.read_draft, no_preview, complaint)
CHOICES = (
    {"word": "publish", "decision": "approve", "sentence": "Let it go out"},
    {"word": "withdraw", "decision": "reject", "sentence": "Keep it back"},
)


async def check(run: RunContext) -> CommitChange:
    """What is left to do follows from the rows: first a draft, then two branches, of which one may wait."""
    seen = await run.read_snapshot(partial(Check.objects.whole().get, pk=run.pk))
    draft = seen.part("draft")
    text = (
        draft.text
        if draft
        else await run.request_model("write", seen.writer, prompts.write(seen.question), WRITTEN, seen.keep_draft)
    )
    outcome, _ = await run.gather(_judged(run, seen, text), _summed_up(run, seen, text))
    return partial(seen.conclude, outcome)


async def _judged(run: RunContext, seen: Check, text: str) -> rules.CheckingOutcome:
    """By another model; where it doubts, a person decides."""
    report = seen.part("report")
    finding = (
        rules.CheckFinding(report.finding)
        if report
        else await run.request_model(
            "check", seen.checker, prompts.check(seen.question, text), CHECKED, seen.keep_report
        )
    )
    if rules.passes(finding):
        return rules.CheckingOutcome.SOUND
    asked = {"kind": "answer", "title": f"Doubted: {seen.title}", "text": text, "choices": CHOICES}
    gate = await run.gate("publish", policy=seen.policy, **asked)
    return rules.CheckingOutcome.APPROVED if gate.approved else rules.CheckingOutcome.WITHDRAWN


async def _summed_up(run: RunContext, seen: Check, text: str) -> None:
    if not seen.part("summary"):
        await run.request_model("sum up", seen.writer, prompts.sum_up(text), SUMMED_UP, seen.keep_summary)
