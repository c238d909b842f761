"""An answer that was cut at the endpoint's limit: it is asked for the rest, and the parts become one answer."""

from collections.abc import Sequence
from typing import Any

from pydantic_core import from_json

from engine.llm.spoken import one_object, so_far
from engine.text.invisible_chars import visible_json

from ..xml_messages import inner_text
from .wording import last_words

FEWEST_WORDS = 30  # of content, for a part that is worth going on from
MIN_NEW_WORDS = {"claim", "option", "side", "document", "line", "answers"}
MOST_POINTS = 3

Conversation = list[dict[str, str]]


def continuation_messages(messages: Conversation, parts: Sequence[str]) -> Conversation | None:
    """The request for the rest of an answer that came in these parts so far, the last of them cut. None where too
    little came of it: then it is an unusable answer like any other."""
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
    """One answer of several parts, as JSON. What is said is put together; for all else the first part stands, as far as
    it had come. Where the last part has no end either what is said ends with dots: nobody is asked any more."""
    joined = _joined(parts)
    return visible_json(joined | {"content": f"{joined['content']}…"} if is_unfinished(parts) else joined)


def is_unfinished(parts: Sequence[str]) -> bool:
    """Whether a message of these parts was cut for good."""
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
    """As far as it has come; of what was cut in the middle only what is said counts."""
    whole = _whole(part)
    return _beginning(part) if whole is None else whole


def _whole(part: str) -> dict[str, Any] | None:
    """None where it is no whole answer."""
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
        kept.pop("verdict", None)  # one whose reason did not come is stated in the rest, or not at all
    return kept | {key: found[key] for key in last if key == "content"}


def _points(answer: dict[str, Any]) -> list[dict[str, Any]]:
    points = answer.get("points")
    return (
        [one for one in points if isinstance(one, dict) and one.keys() >= MIN_NEW_WORDS]
        if isinstance(points, list)
        else []
    )
