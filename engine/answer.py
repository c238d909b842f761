"""An answer, read as it arrives: an event stream of pieces, or a whole completion in one body."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from . import failures
from .providers import storable

LARGEST_ANSWER = 256 * 1024
LONGEST_LINE = 4 * LARGEST_ANSWER


@dataclass
class Reply:
    """What came back: the model's text as far as it arrived, and what the endpoint said about it."""

    text: str = ""
    refusal: str = ""
    finish: str | None = None
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Piece(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    delta: _Piece | None = None
    message: _Piece | None = None
    finish_reason: str | None = None


class _Chunk(BaseModel):
    """A chat completion, or a piece of one, as far as we read it."""

    model: str | None = None
    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None


class Reader:
    """Bytes in, a `Reply` out. `clean` takes out of a text what must not be kept; it comes before every cut.

    What a model thinks aloud may be any length: only the text of its answer, and every line, have a limit.
    """

    def __init__(self, on_text: Callable[[str], None], clean: Callable[[str], str]) -> None:
        self.reply = Reply()
        self.done = False
        self._on_text, self._clean = on_text, clean
        self._head = bytearray()  # the beginning of everything, for the record
        self._rest = bytearray()  # of a line that has no end yet
        self._streamed = False

    @property
    def raw(self) -> str:
        return self._clean(self.reply.text or self.reply.refusal or readable(bytes(self._head[:LARGEST_ANSWER])))

    def feed(self, data: bytes) -> None:
        self._head += data[: max(0, LONGEST_LINE - len(self._head))]
        self._rest += data
        if b"\n" in data:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                self._line(bytes(line).strip())
        if len(self._rest) >= LONGEST_LINE or (len(self._head) >= LONGEST_LINE and not self._streamed):
            raise failures.UnusableAnswer("The answer has no end: more than 1 MB came over the wire.")

    def close(self) -> None:
        """The body has ended. Raises what is wrong with the answer as a whole."""
        if self._streamed:
            self._line(bytes(self._rest).strip())  # a last line may have come without its end
        else:
            self._event(bytes(self._head))
        reply = self.reply
        reply.text = self._clean(reply.text)
        if reply.refusal:
            raise failures.UnusableAnswer(f"The model declined to answer: {self._clean(reply.refusal)[:300]}")
        if reply.finish == "content_filter":
            raise failures.ContentFiltered("The endpoint's content filter stopped the answer.")
        if reply.finish == "length":
            raise failures.UnusableAnswer("The answer was cut off at the endpoint's length limit; it must be shorter.")
        if reply.finish is None:
            raise failures.Unreachable("The answer broke off before its end.")
        if reply.finish != "stop":
            end = self._clean(reply.finish)[:40]
            raise failures.UnusableAnswer(f"The answer ended with “{end}” instead of “stop”.")

    def _line(self, line: bytes) -> None:
        if line.startswith(b"data:") and not self.done:
            self._streamed = True
            self._event(line[5:].strip())

    def _event(self, data: bytes) -> None:
        if data == b"[DONE]":
            self.done = True
            return
        try:
            chunk = _Chunk.model_validate_json(data)
        except ValidationError as error:
            raise failures.UnusableAnswer(self._not_a_completion(data)) from error
        if chunk.error is not None:
            said = self._clean(json.dumps(chunk.error, ensure_ascii=False))[:300]
            raise failures.ServerError(f"The endpoint sent an error in place of an answer: {said}")
        if chunk.choices is None:
            raise failures.UnusableAnswer(self._not_a_completion(data))
        self._take(chunk)

    def _take(self, chunk: _Chunk) -> None:
        reply = self.reply
        reply.model = reply.model or self._clean(chunk.model or "")[:200]
        if isinstance(chunk.usage, dict):
            reply.input_tokens = _count(chunk.usage.get("prompt_tokens"))
            reply.output_tokens = _count(chunk.usage.get("completion_tokens"))
        for choice in (chunk.choices or [])[:1]:
            piece = choice.delta or choice.message or _Piece()
            reply.finish = choice.finish_reason or reply.finish
            reply.refusal += piece.refusal or ""
            if piece.content:
                self._grow(piece.content)

    def _grow(self, text: str) -> None:
        self.reply.text += text
        if len(self.reply.text) > LARGEST_ANSWER:
            raise failures.UnusableAnswer("The answer is longer than 256 kB.")
        self._on_text(self.reply.text)

    def _not_a_completion(self, data: bytes) -> str:
        if not data.strip():
            return "The endpoint sent an empty answer."
        if data.lstrip()[:1] == b"<":
            return "The endpoint sent a web page. Is this the address of a model endpoint?"
        return f"The endpoint did not send a chat completion: {self._clean(readable(data[:2000]))[:120]}"


def _count(value: object) -> int | None:
    """A number of tokens that can be believed; endpoints send strings and negative numbers too."""
    return value if isinstance(value, int) and 0 <= value < 2_000_000_000 else None


def readable(data: bytes) -> str:
    """Any bytes as text that every database takes."""
    return storable(data.decode(errors="backslashreplace"))
