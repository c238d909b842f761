"""Parses the fields of an answer: strict about those that are present, lenient about missing ones."""

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, create_model

from engine.llm.spoken import one_object

from .wording import clean_text


def _without_nulls(value: Any) -> Any:
    """Drop null values, which count as missing."""
    return {key: one for key, one in value.items() if one is not None} if isinstance(value, dict) else value


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Point(_Strict):
    claim: str
    option: str
    side: str
    document: str = ""
    line: int = 0
    answers: str = ""


class _Artifact(_Strict):
    title: str = ""
    kind: str
    text: str = ""
    columns: list[str] = []
    rows: list[list[str]] = []


_TYPES: dict[str, Any] = {
    "speaking_to": (list[str], []),
    "expects_answer": (bool, False),
    "content": (str, ...),
    "points": (list[Annotated[_Point, BeforeValidator(_without_nulls)]], []),
    "artifact": (Annotated[_Artifact | None, BeforeValidator(_without_nulls)], None),
    "verdict": (str, ""),
    "verdict_reasoning": (str, ""),
    "moved_by": (list[int], []),
    "withdrawn": (bool, False),
    "confidence": (int, ...),
    "words": (str, ...),
}


@cache
def _model(fields: tuple[str, ...]) -> type[BaseModel]:
    """Return a model of the answer. Only `content`, `words` and `confidence` are required."""
    return create_model("Answer", __base__=_Strict, **{field: _TYPES[field] for field in fields})


def parse_fields(text: str, fields: Sequence[str]) -> dict[str, Any]:
    """Return the fields of one JSON object, no key twice. Raises ValueError with a sentence if it is not that."""
    try:
        return dict(_model(tuple(fields)).model_validate(_without_nulls(one_object(text))))
    except ValidationError as error:
        raise ValueError(_what_is_wrong(error)) from error


def _what_is_wrong(error: ValidationError) -> str:
    first = error.errors()[0]
    place = f" at {quoted('.'.join(map(str, first['loc'])))}" if first["loc"] else ""
    return f"The answer does not have the agreed form{place}: {first['msg']}."


def shorten(value: object) -> str:
    return clean_text(str(value), 40)


def quoted(value: object) -> str:
    return f"“{shorten(value)}”"
