"""The table of a debate, laid from its rows: all that its prompts look at, and nothing else."""

import json

from engine.models import Document

from .. import table
from ..rules.course import Course
from .debates import Debate
from .talk import Message, Point


def table_of(debate: Debate, course: Course) -> table.Table:
    return table.Table(
        course=course,
        question=debate.question,
        options=[table.Option(one.word, one.meaning, one.direction) for one in debate.options.all()],
        documents=[_document(document) for document in debate.run.documents.all()],
        who={member.seat: member.who for member in debate.table},
        words={message.number: words_of(message) for message in debate.messages.all()},
        run=str(debate.pk)[:8],
        boundary=debate.boundary,
        view=debate.view,
    )


def _document(document: Document) -> table.Document:
    return table.Document(document.label, document.title, document.lines)


def words_of(message: Message) -> table.Words:
    return table.Words(
        at=message.made,
        content=message.content,
        points=[_point(point) for point in message.points.all()],
        artifact=artifact_of(message.artifact),
        reasoning=message.reasoning,
        facts=table.Facts(**_whole(message.facts)) if message.facts else None,
    )


def _point(point: Point) -> table.Point:
    return table.Point(point.claim, point.option, point.side, point.document, point.line or 0, point.answers)


def artifact_of(text: str) -> table.Artifact | None:
    if not text:
        return None
    kept = json.loads(text)
    rows = tuple(tuple(row) for row in kept["rows"])
    return table.Artifact(kept["title"], kept["kind"], kept["text"], tuple(kept["columns"]), rows)


def _whole(facts: dict) -> dict:
    """Lists as they are in rows, tuples as they are on the table."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}
