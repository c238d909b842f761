"""An answer, read as it arrives: an event stream of pieces, or a whole completion in one body."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic import BaseModel, StrictInt, TypeAdapter, ValidationError

from . import errors
from .loops import LoopWatch
from .providers import Provider
from .refusals import Refusal, readable
from .spoken import is_whole

MAX_ANSWER_BYTES = 256 * 1024
MAX_LINE_BYTES = 4 * MAX_ANSWER_BYTES
MAX_LINES = 1_000_000  # two for each piece, more where a gateway says in between that it is still there


@dataclass
class ModelReply:
    """What came back: the model's text as far as it arrived, and what the endpoint said about it."""

    text: str = ""
    finish: str | None = None
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    fingerprint: str = ""  # what the endpoint says of its configuration
    cached_tokens: int = 0  # of the prompt, where the endpoint counts them beside `input_tokens`


class _Part(BaseModel):
    """Of a content that comes as a list: words, or a thought."""

    type: str
    text: str | None = None


_PARTS = TypeAdapter(list[_Part])


class _Piece(BaseModel):
    content: Any = None  # nearly always a text: to try others for each piece would take its time
    refusal: Any = None


NOTHING = _Piece()


class _Choice(BaseModel):
    index: StrictInt | None = None  # many servers leave it out
    delta: _Piece | None = None
    message: _Piece | None = None
    finish_reason: str | None = None


class _Chunk(BaseModel):
    """A chat completion, or a piece of one, as far as we read it."""

    model: Any = None
    choices: list[_Choice] | None = None
    usage: Any = None
    system_fingerprint: Any = None
    error: Any = None


# what servers call an end, in lower case; what they say of a stop by themselves is no answer
STOPPED = {"stop", "stop_sequence", "stop_token", "stopped", "finish_reason_stop", "eos", "eos_token", "eot", "eot_id"}
STOPPED |= {"end", "end_turn", "end_of_turn", "end_of_text", "end_of_sequence", "endoftext", "complete", "completed"}
STOPPED |= {"done", "finish", "finished", "success", "normal"}
TOO_LONG = {"length", "max_tokens", "max_length", "max_output_tokens", "max_completion_tokens", "max_new_tokens"}
TOO_LONG |= {"model_length", "token_limit", "limit", "finish_reason_max_tokens", "model_context_window_exceeded"}
FILTERED = {"content_filter", "content_filtered", "safety", "recitation", "prohibited_content", "blocklist", "spii"}
FILTERED |= {"error_toxic", "sensitive", "finish_reason_safety", "image_safety"}
BROKEN = {"error", "abort", "aborted", "cancelled", "canceled", "network_error", "server_error"}
BROKEN |= {"insufficient_system_resource"}
DONE = (b"[DONE]", b'"[DONE]"')
NAMES_AN_ERROR = re.compile(rb'"(?:object|type)"\s*:\s*"error"|"(?:detail|errors|error_type|error_code)"\s*:\s*["[{]')
THOUGHT = re.compile(rb'"(?:reasoning(?:_content)?|thinking)"\s*:\s*"[^"]')  # in a field
MOST_OF_AN_ERROR = 16 * 1024
BOM = b"\xef\xbb\xbf"


class GrowingText:
    """A text that grows by pieces at constant cost per piece; it is joined only when it is read."""

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


class ReplyReader:
    """Parses the bytes of a response into a `ModelReply`. The provider's key is masked in a text before every cut.

    Lines follow the standard of event streams; an event is also read if it is complete before its empty line. The
    cost of a piece does not depend on earlier ones. `on_growth` is called for every piece; `asked` is the body of
    the request.
    """

    def __init__(
        self, on_growth: Callable[[], None], provider: Provider, asked: Mapping[str, Any] | None = None
    ) -> None:
        self.reply = ModelReply()
        self.done = False
        self._on_growth, self._provider, self._asked = on_growth, provider, asked or {}
        self._text, self._refusal = GrowingText(), GrowingText()
        self._loop = LoopWatch()
        self._lines = 0
        self._head = bytearray()  # the beginning of everything, for the record
        self._rest = bytearray()  # of a line that has no end yet
        self._streamed = self._choices = self._thought = self._after_cr = False
        self.written = 0  # pieces of a text, or of a thought that everybody hears
        self._data: list[bytes] = []  # lines of an event that is not whole yet
        self._size = 0  # of them
        self._kind = b""  # of the event, where it names one

    @property
    def writes(self) -> bool:
        """Whether the model has begun to answer or to think visibly, so that it has read the whole prompt."""
        return self.written > 0

    @property
    def lines(self) -> int:
        """Number of complete lines so far, including those that only keep the connection alive."""
        return self._lines

    @property
    def begun(self) -> bool:
        return bool(self._head)

    @property
    def text(self) -> str:
        """The text as received."""
        return self._text.whole()

    @property
    def raw(self) -> str:
        text = self._text.whole() or self._refusal.whole() or readable(self._without_comments())
        return self._provider.clean_split(text)[:MAX_ANSWER_BYTES]

    def feed(self, data: bytes) -> None:
        kept = MAX_ANSWER_BYTES if self._streamed else MAX_LINE_BYTES
        self._head += data[: max(0, kept - len(self._head))]
        if self._after_cr or b"\r" in data:
            data = self._with_usual_ends(data)
        self._rest += data
        if b"\n" in data:
            *lines, self._rest = self._rest.split(b"\n")
            if not self._lines:
                lines[0] = lines[0].removeprefix(BOM)
            self._lines += len(lines)
            self._take_lines(lines)
        self._look_for_an_end()

    def _take_lines(self, lines: list[bytearray]) -> None:
        for line in lines:
            if line and not self.done:
                self._line(bytes(line))
            elif self._data or self._kind:
                self._end_event()

    def _look_for_an_end(self) -> None:
        unfinished = len(self._rest) if self._streamed else len(self._head)
        if max(unfinished, self._size) >= MAX_LINE_BYTES:
            raise errors.UnusableAnswer("The answer has no end: more than 1 MB came over the wire.")
        if self._lines > MAX_LINES:
            raise errors.UnusableAnswer("The answer has no end: more than a million lines came.")

    def _with_usual_ends(self, data: bytes) -> bytes:
        """Normalize line ends: CRLF, CR or LF, also if a CRLF is split between two pieces."""
        if self._after_cr:
            data = data.removeprefix(b"\n")
        self._after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def close(self) -> None:
        """Finish after the end of the body. Raises CallFailed if the answer is not usable."""
        if self._streamed and not self.done:
            self._line(bytes(self._rest))  # a last line may have come without its end, and a last event
            self._end_event()
        elif not self._streamed and ((body := self._without_comments()).strip() or not self._head):
            self._whole(body.removeprefix(BOM))
        reply, clean = self.reply, self._provider.clean
        reply.text, refusal = clean(self._text.whole()), clean(self._refusal.whole())
        if refusal:
            raise errors.UnusableAnswer(f"The model declined to answer: {refusal[:300]}")
        end = (reply.finish or self._end_by_form(reply.text)).lower().removeprefix("finishreason.")
        if end in STOPPED:
            if not reply.text.strip() and self._thought:
                raise errors.UnusableAnswer("The model thought, and gave no answer.")
            return
        raise self._no_answer(end)

    def _end_by_form(self, text: str) -> str:
        """Return "stop" if the stream ended with a complete object: some servers never send a finish reason."""
        if self.done and not text.strip():
            raise errors.UnusableAnswer("The endpoint sent an empty answer.")
        return "stop" if self.done and is_whole(text) else ""

    def _no_answer(self, end: str) -> errors.CallFailed:
        if not end:
            return errors.EndpointUnreachable("The answer broke off before its end.")
        if end in FILTERED or end.startswith("content_filter"):
            return errors.ContentFiltered("The endpoint's content filter stopped the answer.")
        if end in TOO_LONG:
            return errors.AnswerTruncated("The answer was cut off at the endpoint's length limit; it must be shorter.")
        said = self._provider.clean(self.reply.finish or "")[:40]
        if end in BROKEN:
            failure = errors.ServerError(f"The endpoint broke the answer off: “{said}”.")
            failure.server_away = end == "insufficient_system_resource"
            return failure
        return errors.UnusableAnswer(f"The answer ended with “{said}” instead of “stop”.")

    def _line(self, line: bytes) -> None:
        if line.startswith(b"data:"):
            self._streamed = True
            data = line[5:].strip()
            if not data.endswith(b"}") or self._data or self._kind:
                self._take_line(data)
            else:
                self._take_piece(data)
        elif line.startswith(b"event:"):
            self._kind = line[6:].strip().lower()
        elif line.startswith(b"error:"):  # a field that an earlier llama.cpp has for it
            self._streamed = True
            self._raise_error(line[6:].strip())

    def _end_event(self) -> None:
        lines, self._data, self._size, self._kind = self._data, [], 0, b""
        if lines and not self.done:
            self._event(b"\n".join(lines))

    def _take_line(self, data: bytes) -> None:
        if self._kind == b"error" and data:
            self._raise_error(data)
        if data in DONE:
            self.done = True
        elif data.endswith(b"}") and not self._data:
            self._take_piece(data)
        elif data:
            self._data.append(data)
            self._size += len(data)

    def _take_piece(self, data: bytes) -> None:
        """Parse an event of one line, as nearly all are."""
        try:
            chunk = _Chunk.model_validate_json(data)
        except ValidationError as error:
            if error.errors()[0]["type"] != "json_invalid":
                raise self._no_completion(data) from error
            self._data, self._size = [data], len(data)  # it may go on in the next line
        else:
            self._take(chunk, data)

    def _event(self, data: bytes) -> None:
        try:
            chunk = _Chunk.model_validate_json(data)
        except ValidationError as error:
            raise self._no_completion(data) from error
        self._take(chunk, data)

    def _whole(self, data: bytes) -> None:
        self._event(data)
        if not self._choices:
            raise self._no_completion(data)
        self.done = True  # nothing follows

    def _take(self, chunk: _Chunk, data: bytes) -> None:
        reply = self.reply
        if chunk.error and _says_something(chunk.error):
            self._raise_error(data)
        if chunk.choices is None and NAMES_AN_ERROR.search(data[:MOST_OF_AN_ERROR]):
            self._raise_error(data)
        if not reply.model and isinstance(chunk.model, str):
            reply.model = self._provider.clean(chunk.model)[:200]
        if chunk.system_fingerprint and isinstance(chunk.system_fingerprint, str):
            reply.fingerprint = self._provider.clean(chunk.system_fingerprint)[:200]
        if isinstance(chunk.usage, dict):
            reply.input_tokens = _count(chunk.usage.get("prompt_tokens"))
            reply.output_tokens = _count(chunk.usage.get("completion_tokens"))
            reply.cached_tokens = _cached(chunk.usage)
        if chunk.choices:
            self._hear(self._one_of(chunk.choices), data)

    def _hear(self, choice: _Choice, data: bytes) -> None:
        self._choices, piece = True, choice.delta or choice.message or NOTHING
        self.reply.finish = choice.finish_reason or self.reply.finish
        if piece.refusal:
            self._refusal.add(piece.refusal if isinstance(piece.refusal, str) else "without a word")
            self.written += 1
        content = piece.content
        if content is not None and not isinstance(content, str):
            content = self._of_parts(content, data)
        if content:
            self._text.add(content)
            self.written += 1
            self._refuse_a_loop(content)
            self._on_growth()
        elif THOUGHT.search(data, 0, MOST_OF_AN_ERROR):
            self._thought = True
            self.written += 1
            self._on_growth()  # it reads no more, although nothing of this is shown
        if len(self._text) + len(self._refusal) > MAX_ANSWER_BYTES:
            raise errors.UnusableAnswer("The answer is longer than 256 kB.")

    def _refuse_a_loop(self, piece: str) -> None:
        if again := self._loop.add(piece):
            said = errors.quote_provider(self._provider.clean(" ".join(again.split())[:80]))
            raise errors.UnusableAnswer(f"The answer went round in circles: it said {said} again and again.")

    def _of_parts(self, content: Any, data: bytes) -> str:
        try:
            parts = _PARTS.validate_python(content)
        except ValidationError as error:
            raise self._no_completion(data) from error
        if any(part.type != "text" for part in parts):
            self._thought = True
            self.written += 1
        return "".join(part.text or "" for part in parts if part.type == "text")

    def _raise_error(self, data: bytes) -> NoReturn:
        provider = self._provider
        where, model = f"{provider.name} ({provider.host})", str(self._asked.get("model", ""))
        raise Refusal(0, data[:MAX_ANSWER_BYTES], {}, provider, where).failure(model, self._asked)

    def _without_comments(self) -> bytes:
        """Return the beginning of the body without lines that only keep the connection alive."""
        if b":" not in self._head[:4]:
            return bytes(self._head)
        lines = bytes(self._head).removeprefix(BOM).splitlines()
        return b"\n".join(line for line in lines if not line.startswith((b":", b"event:", b"id:", b"retry:")))

    @staticmethod
    def _one_of(choices: list[_Choice]) -> _Choice:
        """Return the only choice. Of several nobody can know which one the endpoint means, and their pieces may
        mix.
        """
        if len(choices) > 1 or choices[0].index:
            raise errors.UnusableAnswer("The endpoint sent several answers in place of one.")
        return choices[0]

    def _no_completion(self, data: bytes) -> errors.UnusableAnswer:
        if not data.strip():
            return errors.UnusableAnswer("The endpoint sent an empty answer.")
        said = f"The endpoint did not send a chat completion: {self._provider.clean(readable(data[:2000]))[:120]}"
        failure = errors.UnusableAnswer("The endpoint sent a web page." if data.lstrip()[:1] == b"<" else said)
        if not self._choices:  # nothing of it was one
            failure.advice = errors.ADDRESS
        return failure


def _says_something(error: Any) -> bool:
    """Whether it is an error: some gateways send an empty one with every piece."""
    return any(map(_says_something, error.values())) if isinstance(error, dict) else bool(error)


def _count(value: object) -> int | None:
    """Return a plausible number of tokens; None for the strings and negative numbers that some endpoints send."""
    return value if isinstance(value, int) and 0 <= value < 2_000_000_000 else None


def _cached(usage: dict[str, Any]) -> int:
    """Return the prompt tokens that came from a cache and are not in the counted ones.

    Most endpoints count them in the prompt tokens; then there are never more of them.
    """
    details = usage.get("prompt_tokens_details")
    within = _count(details.get("cached_tokens")) if isinstance(details, dict) else None
    beside = (_count(usage.get(name)) or 0 for name in ("cache_read_input_tokens", "cache_creation_input_tokens"))
    more = (within or 0) > (_count(usage.get("prompt_tokens")) or 0)
    return max(sum(beside), (within or 0) if more else 0)
