from functools import partial

from engine.context import RunContext
from engine.llm.forms import AnswerForm
from engine.procedure import Change

from . import prompts
from .models import Check, Draft, Report


def no_preview(text: str) -> str:
    return ""


def complaint(problem: str) -> str:
    return f"That could not be used: {problem}. Answer with JSON alone."


WRITTEN = AnswerForm("draft", prompts.SCHEMA, prompts.read_draft, no_preview, complaint)
CHECKED = AnswerForm("finding", prompts.SCHEMA, prompts.read_finding, no_preview, complaint)


async def check(run: RunContext) -> Change:
    """What is left to do follows from the rows."""
    seen = await run.read(partial(Check.objects.get, pk=run.pk))
    draft = await run.read(Draft.objects.filter(subject=seen).first)
    text = (
        draft.text
        if draft
        else await run.ask("write", seen.writer, prompts.write(seen.question), WRITTEN, seen.keep_draft)
    )
    if not await run.read(Report.objects.filter(subject=seen).exists):
        await run.ask("check", seen.checker, prompts.check(seen.question, text), CHECKED, seen.keep_report)
    return seen.conclude
