"""Prompts of a debate and the formats of the answers.

The system message contains what a member must follow: the shared layer, then its own. Texts of others are only in
user messages, in elements that no text can close: first the material, between two lines with a boundary that is drawn
once per debate, then the debate from this member's view. The last part is always the reason why it has the floor.
First verdicts, models and the seed are in none of it.

Why so: debates/DESIGN.md, What members of a debate are told.
"""

from .answers import (
    AnswerSpec,
    DebateAnswer,
    answer_schema,
    first_verdict_spec,
    message_spec,
    preview,
    read_answer,
    read_first,
    read_words,
    retry_message,
    timekeeper_spec,
)
from .checks import TO_PEOPLE, cited_number
from .continuation import continuation_messages, is_unfinished, join_parts
from .member_history import elements, first_verdict_messages, in_room, member_messages, timekeeper_messages
from .system_prompts import CLOSING, FIRST, FORMS, LAYERS
from .timekeeper_notes import facts_in, floor_reason, must_decide, note_facts, note_sentences
from .versions import KNOWN, VERSION

__all__ = [
    "CLOSING",
    "FIRST",
    "FORMS",
    "KNOWN",
    "LAYERS",
    "TO_PEOPLE",
    "VERSION",
    "AnswerSpec",
    "DebateAnswer",
    "answer_schema",
    "cited_number",
    "continuation_messages",
    "elements",
    "facts_in",
    "first_verdict_messages",
    "first_verdict_spec",
    "floor_reason",
    "in_room",
    "is_unfinished",
    "join_parts",
    "member_messages",
    "message_spec",
    "must_decide",
    "note_facts",
    "note_sentences",
    "preview",
    "read_answer",
    "read_first",
    "read_words",
    "retry_message",
    "timekeeper_messages",
    "timekeeper_spec",
]
