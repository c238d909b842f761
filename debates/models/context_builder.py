"""Builds the prompt context of a debate from its rows."""

import json

from engine.models import Document

from .. import prompt_context
from ..rules.state import DebateState
from .debates import Debate
from .messages import DebateMessage, MessagePoint


def build_prompt_context(debate: Debate, course: DebateState) -> prompt_context.PromptContext:
    return prompt_context.PromptContext(
        course=course,
        question=debate.question,
        options=[prompt_context.PromptOption(one.word, one.meaning, one.direction) for one in debate.options.all()],
        documents=[_document(document) for document in debate.run.documents.all()],
        who={member.seat: member.who for member in debate.members_by_seat},
        words={message.number: message_words(message) for message in debate.messages.all()},
        run=str(debate.pk)[:8],
        boundary=debate.boundary,
        view=debate.view,
    )


def _document(document: Document) -> prompt_context.PromptDocument:
    return prompt_context.PromptDocument(document.label, document.title, document.lines)


def message_words(message: DebateMessage) -> prompt_context.MessageWords:
    return prompt_context.MessageWords(
        at=message.made,
        content=message.content,
        points=[_point(point) for point in message.points.all()],
        artifact=artifact_of(message.artifact),
        reasoning=message.reasoning,
        facts=prompt_context.NoteFacts(**_whole(message.facts)) if message.facts else None,
    )


def _point(point: MessagePoint) -> prompt_context.PromptPoint:
    return prompt_context.PromptPoint(
        point.claim, point.option, point.side, point.document, point.line or 0, point.answers
    )


def artifact_of(text: str) -> prompt_context.PromptArtifact | None:
    if not text:
        return None
    kept = json.loads(text)
    rows = tuple(tuple(row) for row in kept["rows"])
    return prompt_context.PromptArtifact(kept["title"], kept["kind"], kept["text"], tuple(kept["columns"]), rows)


def _whole(facts: dict) -> dict:
    """Convert the lists of JSON rows to the tuples of the context."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()}
