"""XML export of a debate: messages in the elements that members read, for other programs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .. import prompts, xml_messages
from ..models import Debate
from ..models.context_builder import build_prompt_context
from ..models.visibility import hides_first_verdicts
from ..prompt_context import PromptContext, PromptView, letters_of
from ..rules.state import StatementKind
from ..xml_messages import Act, XmlFirstVerdict

KINDS = (StatementKind.CHAIR, StatementKind.CLOSING, StatementKind.LEAVING)


def render_debate_xml(debate: Debate) -> str:
    """Return the XML of a debate that was read with `with_members()`, also of an unfinished one. Erased texts are
    empty, and `redacted` says since when."""
    run, course = debate.run, debate.shown_state
    table = replace(build_prompt_context(debate, course), view=PromptView.PERSPECTIVE)
    told = xml_messages.XmlDebate(
        run=table.run,
        title=run.title,
        question=debate.question,
        options=table.options,
        members=course.seats,
        called=letters_of(course) if debate.view == PromptView.MINUTES else {},
        documents=table.documents,
        digests={one.label: one.digest for one in run.documents.all()},
        messages=list(_messages(debate, prompts.elements(table))),
        acts=list(_acts(debate, table)),
        outcome=run.outcome or "",
        alone=list(_alone(debate)),
        rule=debate.rule,
        because=debate.ended_because,
        code=debate.no_decision,
        advises=debate.advisory,
        redacted=run.redacted,
    )
    return xml_messages.write_debate(told)


def _messages(
    debate: Debate, shown: Sequence[xml_messages.XmlMessage | xml_messages.XmlNote]
) -> Iterator[xml_messages.XmlMessage | xml_messages.XmlNote]:
    rows = {one.number: one for one in debate.messages.all()}
    for message, one in zip(debate.shown_state.messages, shown, strict=True):
        row = rows[message.number]
        kind, by = (
            message.sort if message.sort in KINDS else "",
            row.by_name if message.sort == StatementKind.CHAIR else "",
        )
        yield one if isinstance(one, xml_messages.XmlNote) else replace(one, kind=kind, by=by, cut=row.cut)


def _acts(debate: Debate, table: PromptContext) -> Iterator[Act]:
    rows = {one.number: one for one in debate.steers.all()}
    for steer in debate.shown_state.steers:
        row, member = rows[steer.number], table.names.get(steer.seat or 0, "")
        known = (steer.number, steer.after, row.made, steer.act, row.by_name)
        yield Act(*known, member, steer.amount, steer.verdict, row.reasoning)


def _alone(debate: Debate) -> Iterator[XmlFirstVerdict]:
    for member in () if hides_first_verdicts(debate) else debate.seated:
        if hasattr(member, "first"):
            first = member.first
            yield XmlFirstVerdict(member.seat, first.said_in(debate), first.reasoning, first.confidence)
