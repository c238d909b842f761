"""A debate as XML: what was said in the elements in which members read one another, for whatever reads files."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .. import prompts, scaffold
from ..models import Debate
from ..models.laying import table_of
from ..models.secret import firsts_hidden
from ..rules.course import Sort
from ..scaffold import Act, Alone
from ..table import Table, View, letters_of

KINDS = (Sort.CHAIR, Sort.CLOSING, Sort.LEAVING)


def xml_of(debate: Debate) -> str:
    """Of a debate that was read with `whole()`, as far as it is. A text that was erased is empty, and `redacted` says
    since when."""
    run, course = debate.run, debate.so_far
    table = replace(table_of(debate, course), view=View.PERSPECTIVE)
    told = scaffold.Debate(
        run=table.run,
        title=run.title,
        question=debate.question,
        options=table.options,
        members=course.seats,
        called=letters_of(course) if debate.view == View.MINUTES else {},
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
    return scaffold.write_debate(told)


def _messages(
    debate: Debate, shown: Sequence[scaffold.Message | scaffold.Note]
) -> Iterator[scaffold.Message | scaffold.Note]:
    rows = {one.number: one for one in debate.messages.all()}
    for message, one in zip(debate.so_far.messages, shown, strict=True):
        row = rows[message.number]
        kind, by = message.sort if message.sort in KINDS else "", row.by_name if message.sort == Sort.CHAIR else ""
        yield one if isinstance(one, scaffold.Note) else replace(one, kind=kind, by=by, cut=row.cut)


def _acts(debate: Debate, table: Table) -> Iterator[Act]:
    rows = {one.number: one for one in debate.steers.all()}
    for steer in debate.so_far.steers:
        row, member = rows[steer.number], table.names.get(steer.seat or 0, "")
        known = (steer.number, steer.after, row.made, steer.act, row.by_name)
        yield Act(*known, member, steer.amount, steer.verdict, row.reasoning)


def _alone(debate: Debate) -> Iterator[Alone]:
    for member in () if firsts_hidden(debate) else debate.seated:
        if hasattr(member, "first"):
            first = member.first
            yield Alone(member.seat, first.said_in(debate), first.reasoning, first.confidence)
