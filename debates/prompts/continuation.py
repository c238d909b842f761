"""Continues an answer that was cut at the endpoint's limit and joins the parts."""

from collections.abc import Sequence
from typing import Any

from pydantic_core import from_json

from engine.llm.spoken import one_object, so_far
from engine.text.invisible_chars import visible_json

from ..xml_messages import inner_text
from .wording import last_words

FEWEST_WORDS = 30  # words of content that make a part worth continuing
POINT_FIELDS = {"claim", "option", "side", "document", "line", "answers"}
MOST_POINTS = 3

Conversation = list[dict[str, str]]


def continuation_messages(messages: Conversation, parts: Sequence[str]) -> Conversation | None:
    """Return the request for the rest of an answer, the last part of which was cut. None if the content is too
    short: then it is an unusable answer like any other."""
    answer = _joined(parts)
    said, content = visible_json(answer), str(answer["content"])
    if len(content.split()) < FEWEST_WORDS:
        return None
    asked = (
        f"Your message was cut off after the words “…{inner_text(last_words(content))}”. Give the rest only, "
        "in the same form; the first part stands."
    )
    return [*messages, {"role": "assistant", "content": said}, {"role": "user", "content": asked}]


def join_parts(parts: Sequence[str]) -> str:
    """Return one answer from several parts, as JSON. The content is joined; all other fields are the first part's,
    as far as it has them. If the last part is incomplete too, the content ends with dots, as there is no further
    request."""
    joined = _joined(parts)
    return visible_json(joined | {"content": f"{joined['content']}…"} if is_unfinished(parts) else joined)


def is_unfinished(parts: Sequence[str]) -> bool:
    """Return whether the message stays incomplete."""
    return len(parts) > 1 and _whole(parts[-1]) is None


def _joined(parts: Sequence[str]) -> dict[str, Any]:
    answers = [_read(part) for part in parts]
    contents = [str(answer["content"]).strip() for answer in answers if answer.get("content")]
    joined: dict[str, Any] = {}
    for answer in answers:
        joined = answer | joined
    joined["content"] = " ".join(contents)
    if any("points" in answer for answer in answers):
        joined["points"] = [point for answer in answers for point in _points(answer)][:MOST_POINTS]
    return joined


def _read(part: str) -> dict[str, Any]:
    """Return the fields of a part; of an incomplete one only the content counts."""
    whole = _whole(part)
    return _beginning(part) if whole is None else whole


def _whole(part: str) -> dict[str, Any] | None:
    """Return the answer, or None if it is incomplete."""
    try:
        return one_object(part)
    except ValueError:
        return None


def _beginning(part: str) -> dict[str, Any]:
    try:
        found, certain = (from_json(so_far(part), allow_partial=how) for how in ("trailing-strings", True))
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    last = list(found)[-1:]
    kept = {key: value for key, value in certain.items() if key not in last or key == "points"}
    if "verdict_reasoning" not in kept:
        kept.pop("verdict", None)  # a verdict without its reason is stated in the rest, or not at all
    return kept | {key: found[key] for key in last if key == "content"}


def _points(answer: dict[str, Any]) -> list[dict[str, Any]]:
    points = answer.get("points")
    return (
        [one for one in points if isinstance(one, dict) and one.keys() >= POINT_FIELDS]
        if isinstance(points, list)
        else []
    )
