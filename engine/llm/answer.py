"""An answer, read as it arrives: an event stream of pieces, or a whole completion in one body."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, StrictInt, ValidationError

from . import failures
from .loops import LoopWatch
from .providers import Provider, storable

LARGEST_ANSWER = 256 * 1024
LONGEST_LINE = 4 * LARGEST_ANSWER
MOST_LINES = 1_000_000  # two for each piece, more where a gateway says in between that it is still there


@dataclass
class Reply:
    """What came back: the model's text as far as it arrived, and what the endpoint said about it."""

    text: str = ""
    finish: str | None = None
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    fingerprint: str = ""  # what the endpoint says of its configuration
    cached_tokens: int = 0  # of the prompt, where the endpoint counts them beside `input_tokens`


class _Piece(BaseModel):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: Any = None
    reasoning: Any = None


class _Choice(BaseModel):
    index: StrictInt | None = None  # many servers leave it out
    delta: _Piece | None = None
    message: _Piece | None = None
    finish_reason: str | None = None


class _Chunk(BaseModel):
    """A chat completion, or a piece of one, as far as we read it."""

    model: str | None = None
    choices: list[_Choice] | None = None
    usage: Any = None
    system_fingerprint: Any = None
    error: Any = None


class Growing:
    """A text that grows by pieces, at the cost of each piece; it is put together when somebody wants to see it."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(self, piece: str) -> None:
        if piece:
            self._parts.append(piece)
            self._length += len(piece)

    def whole(self) -> str:
        self._parts = ["".join(self._parts)]
        return self._parts[0]


class Reader:
    """Bytes in, a `Reply` out. The key is taken out of a text before every cut.

    What a piece costs does not grow with what came before it. `on_growth` is called for every piece of text; who wants
    to show the text asks for its `beginning`, now and then.
    """

    def __init__(self, on_growth: Callable[[], None], provider: Provider) -> None:
        self.reply = Reply()
        self.done = False
        self.writes = False  # or thinks where everybody hears it: the model has read all
        self._on_growth, self._provider = on_growth, provider
        self._text, self._refusal = Growing(), Growing()
        self._loop = LoopWatch()
        self._lines = 0
        self._head = bytearray()  # the beginning of everything, for the record
        self._rest = bytearray()  # of a line that has no end yet
        self._streamed = False

    @property
    def begun(self) -> bool:
        return bool(self._head)

    @property
    def text(self) -> str:
        """As it came."""
        return self._text.whole()

    @property
    def raw(self) -> str:
        text = self._text.whole() or self._refusal.whole() or readable(bytes(self._head))
        return self._provider.clean_cut(text)[:LARGEST_ANSWER]

    def beginning(self, most: int) -> str:
        return self._text.whole()[:most]

    def feed(self, data: bytes) -> None:
        kept = LARGEST_ANSWER if self._streamed else LONGEST_LINE
        self._head += data[: max(0, kept - len(self._head))]
        self._rest += data
        if b"\n" in data:
            *lines, self._rest = self._rest.split(b"\n")
            self._lines += len(lines)
            for line in filter(None, lines):
                self._line(bytes(line).strip())
        if len(self._rest) >= LONGEST_LINE or (len(self._head) >= LONGEST_LINE and not self._streamed):
            raise failures.UnusableAnswer("The answer has no end: more than 1 MB came over the wire.")
        if self._lines > MOST_LINES:
            raise failures.UnusableAnswer("The answer has no end: more than a million lines came.")

    def close(self) -> None:
        """The body has ended. Raises what is wrong with the answer as a whole."""
        if self._streamed:
            self._line(bytes(self._rest).strip())  # a last line may have come without its end
        else:
            self._event(bytes(self._head))
        reply, clean = self.reply, self._provider.clean
        reply.text, refusal = clean(self._text.whole()), clean(self._refusal.whole())
        if refusal:
            raise failures.UnusableAnswer(f"The model declined to answer: {refusal[:300]}")
        if reply.finish == "content_filter":
            raise failures.ContentFiltered("The endpoint's content filter stopped the answer.")
        if reply.finish == "length":
            raise failures.CutOff("The answer was cut off at the endpoint's length limit; it must be shorter.")
        if reply.finish is None:
            raise failures.Unreachable("The answer broke off before its end.")
        if reply.finish != "stop":
            end = clean(reply.finish)[:40]
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
            said = failures.quoted(self._provider.clean(json.dumps(chunk.error, ensure_ascii=False)))
            raise failures.ServerError(f"The endpoint sent an error in place of an answer: {said}.")
        if chunk.choices is None:
            raise failures.UnusableAnswer(self._not_a_completion(data))
        self._take(chunk)

    def _take(self, chunk: _Chunk) -> None:
        reply = self.reply
        reply.model = reply.model or self._provider.clean(chunk.model or "")[:200]
        if isinstance(chunk.system_fingerprint, str):
            reply.fingerprint = self._provider.clean(chunk.system_fingerprint)[:200]
        if isinstance(chunk.usage, dict):
            reply.input_tokens = _count(chunk.usage.get("prompt_tokens"))
            reply.output_tokens = _count(chunk.usage.get("completion_tokens"))
            reply.cached_tokens = _cached(chunk.usage)
        for choice in self._one_of(chunk.choices or []):
            piece = choice.delta or choice.message or _Piece()
            reply.finish = choice.finish_reason or reply.finish
            self._refusal.add(piece.refusal or "")
            self.writes = self.writes or bool(piece.content or piece.reasoning_content or piece.reasoning)
            if piece.content:
                self._text.add(piece.content)
                self._refuse_a_loop(piece.content)
                self._on_growth()
        if len(self._text) + len(self._refusal) > LARGEST_ANSWER:
            raise failures.UnusableAnswer("The answer is longer than 256 kB.")

    def _refuse_a_loop(self, piece: str) -> None:
        if again := self._loop.add(piece):
            said = failures.quoted(self._provider.clean(" ".join(again.split())[:80]))
            raise failures.UnusableAnswer(f"The answer went round in circles: it said {said} again and again.")

    @staticmethod
    def _one_of(choices: list[_Choice]) -> list[_Choice]:
        """One choice is asked for. Which of several an endpoint means nobody can know, and their pieces may mix."""
        if len(choices) > 1 or any(choice.index for choice in choices):
            raise failures.UnusableAnswer("The endpoint sent several answers in place of one.")
        return choices

    def _not_a_completion(self, data: bytes) -> str:
        if not data.strip():
            return "The endpoint sent an empty answer."
        if data.lstrip()[:1] == b"<":
            return "The endpoint sent a web page. Is this the address of a model endpoint?"
        return f"The endpoint did not send a chat completion: {self._provider.clean(readable(data[:2000]))[:120]}"


def _count(value: object) -> int | None:
    """A number of tokens that can be believed; endpoints send strings and negative numbers too."""
    return value if isinstance(value, int) and 0 <= value < 2_000_000_000 else None


def _cached(usage: dict[str, Any]) -> int:
    """Tokens of the prompt that came out of a cache and are not among those that were counted. Most endpoints count
    them among those, so that there are never more of them."""
    details = usage.get("prompt_tokens_details")
    within = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    beside = (_count(usage.get(name)) or 0 for name in ("cache_read_input_tokens", "cache_creation_input_tokens"))
    more = (within or 0) > (_count(usage.get("prompt_tokens")) or 0)
    return max(sum(beside), (within or 0) if more else 0)


def readable(data: bytes) -> str:
    """Any bytes as text that every database takes."""
    return storable(data.decode(errors="backslashreplace"))
