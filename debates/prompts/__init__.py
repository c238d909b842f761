"""What everybody in a debate is told, and what form an answer must have.

The system message holds what a member must follow: the shared layer, then its own. What others wrote stands in the
user's messages alone, in elements that no text can close: first the material, between two lines with a boundary that
is drawn once for each debate, then the debate as this member has lived it. The last thing said is always why it speaks
now. Nothing of first verdicts, of models and of the seed is in any of it.

Why so: docs/decisions.md, What members of a debate are told.
"""

from .answers import (
    Answer,
    Form,
    answer_schema,
    complaint,
    first_form,
    form,
    preview,
    read_answer,
    read_first,
    read_words,
    timekeeper_form,
)
from .checks import TO_PEOPLE, number_in
from .cut import carry_on, has_no_end, join
from .history import elements, first, in_room, perspective, timekeeper
from .layers import CLOSING, FIRST, FORMS, LAYERS
from .notes import facts_in, facts_of, must_decide, stated, why
from .versions import KNOWN, VERSION

__all__ = [
    "CLOSING",
    "FIRST",
    "FORMS",
    "KNOWN",
    "LAYERS",
    "TO_PEOPLE",
    "VERSION",
    "Answer",
    "Form",
    "answer_schema",
    "carry_on",
    "complaint",
    "elements",
    "facts_in",
    "facts_of",
    "first",
    "first_form",
    "form",
    "has_no_end",
    "in_room",
    "join",
    "must_decide",
    "number_in",
    "perspective",
    "preview",
    "read_answer",
    "read_first",
    "read_words",
    "stated",
    "timekeeper",
    "timekeeper_form",
    "why",
]
