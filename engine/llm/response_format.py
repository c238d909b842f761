"""How a model is asked (request modes), and what its answer must look like (response formats)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

from .own_words import instructions_of

T = TypeVar("T")
ChatMessage = dict[str, str]
PreviewText = Callable[[Callable[[], str]], None]

THINKING, LONGEST_ANSWER, STEP = 3_072, 8_192, 256  # tokens: more than the longest, some endpoints refuse to promise


def tokens_for(characters: int) -> int:
    """Return the maximum length in tokens of an answer whose texts have up to this number of characters, thinking
    included.
    """
    wanted = THINKING + characters // 4
    return min(LONGEST_ANSWER, -(-wanted // STEP) * STEP)


@dataclass(frozen=True)
class ResponseFormat(Generic[T]):
    """What an answer must look like.

    `read` parses an answer's text, or raises ValueError with what is wrong. `preview` returns the part worth
    showing of a text that is still growing. `complaint` tells the model what was wrong, for a retry.

    `schema` is flat and strict, and allows more than `read` does. `exact_schema` describes this very request: names
    as enums, alternatives as a choice of shapes, short lists; not every strict mode supports that.

    `said` returns the texts of a value that must be the model's own words. `instructions` returns what a
    conversation tells the model apart from its material: an answer that only repeats them is rejected.

    `max_tokens` limits the answer, thinking included (`tokens_for`). An answer that is cut there is requested again
    with more.
    """

    name: str
    schema: dict[str, Any]
    read: Callable[[str], T]
    preview: Callable[[str], str]
    complaint: Callable[[str], str]
    exact_schema: dict[str, Any] | None = None
    said: Callable[[T], Iterable[str]] = lambda value: ()
    instructions: Callable[[Sequence[ChatMessage]], str] = instructions_of
    max_tokens: int = LONGEST_ANSWER  # its texts have no bound: arguments of tools may hold whole files

    @cached_property
    def response_formats(self) -> dict[str, dict[str, Any]]:
        """The `response_format` parameter by format name. Plain text has none: the prompt describes the format."""
        return {
            "json_schema": self._strict(self.exact_schema or self.schema),
            "plain_schema": self._strict(self.schema),
            "json_object": {"type": "json_object", "schema": self.schema},
        }

    def _strict(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {"type": "json_schema", "json_schema": {"name": self.name, "strict": True, "schema": schema}}


@dataclass(frozen=True)
class ContinuedAnswer:
    """How to continue an answer that was cut at the endpoint's length limit.

    `carry_on` builds the request for the rest from the conversation and the parts so far; it returns None if the
    parts are too short. `join` joins the parts, even if the last one is cut and no more are requested.
    """

    carry_on: Callable[[list[ChatMessage], Sequence[str]], list[ChatMessage] | None]
    join: Callable[[Sequence[str]], str]


FORMAT_FALLBACKS = ("json_schema", "plain_schema", "json_object", "text")  # the ladder, from the strictest down


@dataclass(frozen=True)
class RequestMode:
    """How a model is asked, where endpoints differ."""

    answer_format: str = FORMAT_FALLBACKS[0]
    counts_tokens: bool = True  # whether to ask for the usage of a stream, which some servers refuse
    system: bool = True  # whether a conversation may have a system message, for which some templates have no place
    length: str = "max_tokens"  # what the bound of an answer is called; empty: it is not sent
    streams: bool = False  # whether it has to come in pieces: somebody watches, or it comes in no other way

    def without(self, refused: str, form: ResponseFormat[Any]) -> "RequestMode":
        """Return the next mode to try after one part of this mode was refused for this form."""
        if refused == "stream_options":
            return replace(self, counts_tokens=False)
        if refused == "system":
            return replace(self, system=False)
        if refused == "stream":
            return replace(self, streams=True)
        if refused == "max_tokens":
            return replace(self, length="max_completion_tokens" if self.length == "max_tokens" else "")
        if refused == "room":
            return replace(self, length="")
        lower = FORMAT_FALLBACKS[FORMAT_FALLBACKS.index(self.answer_format) + 1 :]
        if lower[0] == "plain_schema" and form.exact_schema is None:
            lower = lower[1:]  # that was its plain schema
        return replace(self, answer_format=lower[0])


def messages_for_mode(messages: Sequence[ChatMessage], way: RequestMode) -> list[ChatMessage]:
    """Return a conversation as it is sent: roles alternate, because strict templates refuse two messages of one role
    in a row.

    Consecutive messages of one role are joined by an empty line. If the mode has no system role, the system message
    is joined with the user's first message.
    """
    sent: list[ChatMessage] = []
    for message in messages:
        role = "user" if message["role"] == "system" and not way.system else message["role"]
        if sent and sent[-1]["role"] == role:
            sent[-1] = {**sent[-1], "content": f"{sent[-1]['content']}\n\n{message['content']}"}
        else:
            sent.append({**message, "role": role})
    return sent
