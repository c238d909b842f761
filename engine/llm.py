"""The one boundary to language models. Everything that goes out or comes back passes here.

Chat completions are posted through the openai client, streamed, and read here line by line: the client's own
stream helper costs ten times as much per piece of text and hides what really came over the wire. No hidden
retries, no redirects, no proxies from the environment. Whatever goes wrong leaves as a `CallFailed`.
"""

import asyncio
import json
import math
import re
import zlib
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any, Generic, TypeVar

import aiohttp
import httpx2
import openai
from django.utils import timezone
from pydantic import BaseModel, ValidationError

from . import failures, rehearsal
from .providers import REHEARSAL, Provider, UnknownProvider, resolve

LARGEST_ANSWER = 256 * 1024
MOST_MODELS = 2000

T = TypeVar("T")
Message = dict[str, str]


@dataclass(frozen=True)
class Form(Generic[T]):
    """What an answer must look like.

    `read` makes the value of an answer's text, or raises ValueError with what is wrong; `preview` gives the
    part worth showing of a text that is still growing; `complaint` tells the model what was wrong, for a retry.
    """

    name: str
    schema: dict[str, Any]
    read: Callable[[str], T]
    preview: Callable[[str], str]
    complaint: Callable[[str], str]

    @cached_property
    def response_formats(self) -> dict[str, dict[str, Any]]:
        """What a request says of the form, by the name of the format. Plain text says nothing: the prompt does."""
        return {
            "json_schema": {
                "type": "json_schema",
                "json_schema": {"name": self.name, "strict": True, "schema": self.schema},
            },
            "json_object": {"type": "json_object", "schema": self.schema},
        }


FORMATS = ("json_schema", "json_object", "text")  # the ladder, from the strictest down


@dataclass(frozen=True)
class Way:
    """How a model is asked, as far as endpoints differ."""

    answer_format: str = FORMATS[0]
    counts_tokens: bool = True  # whether to ask for the usage of a stream, which some servers refuse

    def without(self, refused: str) -> "Way":
        """The next way to try when one thing of this was refused."""
        if refused == "stream_options":
            return replace(self, counts_tokens=False)
        return replace(self, answer_format=FORMATS[FORMATS.index(self.answer_format) + 1])


@dataclass
class Reply:
    """What came back: the model's text as far as it arrived, and what the endpoint said about it."""

    text: str = ""
    refusal: str = ""
    finish: str | None = None
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None


class Models:
    """Every model that this process can ask: one client per provider, made when first needed."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._clients: dict[str, openai.AsyncOpenAI] = {}
        self._places: dict[str, asyncio.Semaphore] = {}
        self._ways: dict[str, Way] = {}

    def place(self, model: str) -> asyncio.Semaphore:
        """One of the places that the model's provider has for requests at once; to be held while asking."""
        try:
            provider = resolve(model)[0]
        except UnknownProvider:
            return asyncio.Semaphore()  # asking will say so
        return self._places.setdefault(provider.name, asyncio.Semaphore(provider.concurrency))

    def way(self, model: str) -> Way:
        """How this model is asked: the strictest way that it has not refused since this process began."""
        return self._ways.get(model, Way())

    async def ask(
        self, model: str, messages: list[Message], form: Form[T], on_text: Callable[[str], None], way: Way
    ) -> Reply:
        """One attempt, within the deadline. `on_text` gets the whole text so far whenever it grows.

        FormatRefused where the endpoint does not take this way of asking; `way` then names the next one.
        """
        try:
            provider, name = resolve(model)
        except UnknownProvider as error:
            raise failures.UnknownModel(str(error)) from error
        reader = _Reader(on_text)
        try:
            await self._attempt(provider, model, self._body(name, messages, form, way), reader)
        except failures.CallFailed as failure:
            if isinstance(failure, failures.FormatRefused) and self.way(model) == way:
                self._ways[model] = way.without(failure.refused)
            # the one way out: whatever an endpoint repeats of us, no key leaves here
            failure.args = (_keepable(str(failure), provider),)
            failure.raw = _keepable(failure.raw or reader.raw, provider)
            failure.input_tokens, failure.output_tokens = reader.reply.input_tokens, reader.reply.output_tokens
            raise
        reply = reader.reply
        reply.text, reply.model = _keepable(reply.text, provider), _keepable(reply.model, provider)
        return reply

    async def _attempt(self, provider: Provider, model: str, body: dict[str, Any], reader: "_Reader") -> None:
        try:
            async with asyncio.timeout(self.timeout):
                await self._stream(provider, body, reader)
        except TimeoutError as error:
            sentence = f"No whole answer from {provider.name} ({provider.host}) within {self.timeout:g} s."
            raise failures.TimedOut(sentence) from error
        except failures.CallFailed:
            raise
        except Exception as error:
            # The boundary: below are an SDK, two HTTP libraries and somebody else's server. Whatever they
            # raise is one failed attempt, never a broken run.
            raise _classify(error, provider, model, body) from error

    async def names(self, provider: Provider) -> list[str]:
        """What the provider lists of its models. CallFailed as for a question."""
        try:
            async with asyncio.timeout(self.timeout):
                return await self._names(provider)
        except TimeoutError as error:
            raise failures.TimedOut(
                f"{provider.name} ({provider.host}) lists no models within {self.timeout:g} s."
            ) from error
        except failures.CallFailed:
            raise
        except Exception as error:
            # the boundary, as above
            failure = _classify(error, provider, "", {})
            failure.args = (_keepable(str(failure), provider),)
            raise failure from error

    async def _names(self, provider: Provider) -> list[str]:
        response: httpx2.Response = await self._client(provider).get("/models", cast_to=httpx2.Response)
        try:
            listed = _Listed.model_validate_json(response.content[: LARGEST_ANSWER * 4])
        except ValidationError as error:
            raise failures.UnusableAnswer("The endpoint did not send a list of models.") from error
        # Gemini lists its models with the name of the collection before them
        return [storable(model.id.removeprefix("models/"))[:200] for model in listed.data[:MOST_MODELS]]

    async def close(self) -> None:
        clients, self._clients = self._clients, {}
        await asyncio.gather(*(client.close() for client in clients.values()))

    @staticmethod
    def _body(name: str, messages: list[Message], form: Form[T], way: Way) -> dict[str, Any]:
        body: dict[str, Any] = {"model": name, "messages": messages, "stream": True}
        if way.answer_format in form.response_formats:
            body["response_format"] = form.response_formats[way.answer_format]
        if way.counts_tokens:
            body["stream_options"] = {"include_usage": True}
        return body

    async def _stream(self, provider: Provider, body: dict[str, Any], reader: "_Reader") -> None:
        response: httpx2.Response = await self._client(provider).post(
            "/chat/completions",
            body=body,
            cast_to=httpx2.Response,
            stream=True,
            # a compressed answer could be a thousand times larger than it looks; some compress all the same
            options={"headers": {"Accept-Encoding": "identity"}},
        )
        try:
            unpack = _unpacker(response)
            async with aclosing(response.aiter_raw()) as chunks:
                async for chunk in chunks:
                    reader.feed(unpack(chunk))
        finally:
            await response.aclose()
        reader.close()

    def _client(self, provider: Provider) -> openai.AsyncOpenAI:
        if provider.name not in self._clients:
            self._clients[provider.name] = openai.AsyncOpenAI(
                api_key=provider.api_key,
                base_url=provider.base_url,
                max_retries=0,
                http_client=_http_client(provider),
            )
        return self._clients[provider.name]


def _http_client(provider: Provider) -> httpx2.AsyncClient:
    timeout = httpx2.Timeout(None, connect=5)  # the whole attempt has a deadline of its own
    if provider.name == REHEARSAL:
        return httpx2.AsyncClient(transport=rehearsal.Transport(), timeout=timeout)
    limits = httpx2.Limits(
        max_connections=provider.concurrency, max_keepalive_connections=provider.concurrency, keepalive_expiry=60
    )
    return openai.DefaultAioHttpClient(
        limits=limits,
        timeout=timeout,
        follow_redirects=False,
        trust_env=False,
        event_hooks={"response": [_cap_error_body]},
    )


def _unpacker(response: httpx2.Response) -> Callable[[bytes], bytes]:
    """Undoes the compression of a body, no piece of it growing beyond what is read of an answer."""
    encoding = response.headers.get("content-encoding", "identity").lower()
    if encoding in ("identity", ""):
        return bytes
    if encoding not in ("gzip", "deflate"):
        raise failures.UnusableAnswer(f"The answer is compressed in a way that was not asked for ({encoding[:20]}).")
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 32)
    return lambda packed: unpacking.decompress(packed, LARGEST_ANSWER * 8)


async def _cap_error_body(response: httpx2.Response) -> None:
    """The client library reads the body of an error whole, however large; it finds this much already read."""
    if response.status_code < 300:
        return
    body = bytearray()
    unpack = _unpacker(response)
    async with aclosing(response.aiter_raw()) as chunks:
        async for chunk in chunks:
            body += unpack(chunk)
            if len(body) > LARGEST_ANSWER:
                break
    await response.aclose()
    response._content = bytes(body[:LARGEST_ANSWER])


class _Model(BaseModel):
    id: str


class _Listed(BaseModel):
    data: list[_Model]


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


class _Reader:
    """Bytes of an answer in, a `Reply` out. Takes an event stream, or a whole completion in one body."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self.reply = Reply()
        self._on_text = on_text
        self._body = bytearray()
        self._read_to = 0
        self._streamed = False
        self._texts: list[str] = []

    @property
    def raw(self) -> str:
        return self.reply.text or self.reply.refusal or readable(bytes(self._body))

    def feed(self, data: bytes) -> None:
        self._body += data
        if len(self._body) > LARGEST_ANSWER * 8:
            raise failures.UnusableAnswer("The answer has no end: more than 2 MB came over the wire.")
        while (end := self._body.find(b"\n", self._read_to)) >= 0:
            line = bytes(self._body[self._read_to : end]).strip()
            self._read_to = end + 1
            if line.startswith(b"data:"):
                self._streamed = True
                self._event(line[5:].strip())

    def close(self) -> None:
        """The body has ended. Raises what is wrong with the answer as a whole."""
        if self._streamed:
            self.feed(b"\n")  # a last line may have come without its end
        else:
            self._event(bytes(self._body))
        reply = self.reply
        if reply.refusal:
            raise failures.UnusableAnswer(f"The model declined to answer: {reply.refusal[:300]}")
        if reply.finish == "content_filter":
            raise failures.ContentFiltered("The endpoint's content filter stopped the answer.")
        if reply.finish == "length":
            raise failures.UnusableAnswer("The answer was cut off at the endpoint's length limit; it must be shorter.")
        if reply.finish is None:
            raise failures.Unreachable("The answer broke off before its end.")
        if reply.finish != "stop":
            raise failures.UnusableAnswer(f"The answer ended with “{reply.finish[:40]}” instead of “stop”.")

    def _event(self, data: bytes) -> None:
        if data == b"[DONE]":
            return
        try:
            chunk = _Chunk.model_validate_json(data)
        except ValidationError as error:
            raise failures.UnusableAnswer(_not_a_completion(data)) from error
        if chunk.error is not None:
            said = json.dumps(chunk.error, ensure_ascii=False)[:300]
            raise failures.ServerError(f"The endpoint sent an error in place of an answer: {said}")
        if chunk.choices is None:
            raise failures.UnusableAnswer(_not_a_completion(data))
        self._take(chunk)

    def _take(self, chunk: _Chunk) -> None:
        reply = self.reply
        reply.model = reply.model or (chunk.model or "")[:200]
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


def _count(value: object) -> int | None:
    """A number of tokens that can be believed; endpoints send strings and negative numbers too."""
    return value if isinstance(value, int) and 0 <= value < 2_000_000_000 else None


def _not_a_completion(data: bytes) -> str:
    if not data.strip():
        return "The endpoint sent an empty answer."
    if data.lstrip()[:1] == b"<":
        return "The endpoint sent a web page. Is this the address of a model endpoint?"
    return f"The endpoint did not send a chat completion: {readable(data[:120])}"


def readable(data: bytes) -> str:
    """Any bytes as text that every database takes."""
    return storable(data.decode(errors="backslashreplace"))


def storable(text: str) -> str:
    """The text with NUL and lone surrogates, which no database takes, as visible escapes."""
    return text.encode(errors="backslashreplace").decode().replace("\x00", "\\x00")


def _keepable(text: str, provider: Provider) -> str:
    key = provider.api_key
    return storable(text.replace(key, "[key]") if len(key) > 7 else text)


def _classify(error: Exception, provider: Provider, model: str, asked: dict[str, Any]) -> failures.CallFailed:
    where = f"{provider.name} ({provider.host})"
    if isinstance(error, openai.APIStatusError):
        return _format_refused(error, where, asked) or _classify_status(error, where, model)
    if isinstance(error, openai.APIConnectionError | httpx2.TransportError | aiohttp.ClientError | OSError):
        # also what the client calls a time-out: with none set for reading, only connecting can have one
        reason = str(error.__cause__ or error).replace(" ssl:default", "") or type(error).__name__
        return failures.Unreachable(f"{where} could not be reached: {reason[:200]}")
    return failures.UnusableAnswer(f"The answer of {where} could not be read ({type(error).__name__}).")


BY_CODE: dict[str, tuple[type[failures.CallFailed], str]] = {
    "insufficient_quota": (failures.QuotaUsedUp, "The quota at {where} is used up ({status})."),
    "content_filter": (failures.ContentFiltered, "The content filter of {where} stopped the request.{said}"),
    "model_not_found": (failures.UnknownModel, "{where} does not know the model “{model}” ({status}).{said}"),
}
TOO_LONG = (failures.Refused, "The content is too long for the model “{model}” at {where} ({status}).{said}")
BY_WORDS: tuple[tuple[re.Pattern[str], tuple[type[failures.CallFailed], str]], ...] = (
    # gateways give no code of their own for what they pass on
    (re.compile(r"context.?(length|window)|too many tokens", re.IGNORECASE), TOO_LONG),
    (re.compile(r"credit balance", re.IGNORECASE), BY_CODE["insufficient_quota"]),
    (
        re.compile(r"(invalid|unknown|no such) model|model.{0,80}(not found|not exist)", re.I),
        BY_CODE["model_not_found"],
    ),
)
BY_STATUS: dict[int, tuple[type[failures.CallFailed], str]] = {
    401: (failures.Unauthorized, "{where} refused the key (401)."),
    402: BY_CODE["insufficient_quota"],
    403: (failures.Unauthorized, "{where} refused the key (403)."),
    404: (failures.UnknownModel, "{where} does not know the model “{model}”, or is the wrong address (404).{said}"),
    408: (failures.TimedOut, "{where} gave up waiting for the request (408).{said}"),
    409: (failures.ServerError, "{where} answered 409.{said}"),
}
BY_HUNDRED: dict[int, tuple[type[failures.CallFailed], str]] = {
    3: (failures.Refused, "{where} redirects to another address ({status}), which is not followed."),
    4: (failures.Refused, "{where} refused the request ({status}).{said}"),
}
OTHERWISE = (failures.ServerError, "{where} answered {status}.{said}")


SPEAKS_OF = {  # what an endpoint says when it does not take this part of a request
    "stream_options": re.compile(r"stream_options", re.IGNORECASE),
    "response_format": re.compile(
        r"response.?format|json.?schema|json.?object|structured.?output|\bgrammar\b", re.IGNORECASE
    ),
}


def _format_refused(error: openai.APIStatusError, where: str, asked: dict[str, Any]) -> failures.FormatRefused | None:
    if error.status_code not in (400, 415, 422, 500, 501) or error.code in BY_CODE:
        return None
    raw = readable(error.response.content[:LARGEST_ANSWER])
    for refused, words in SPEAKS_OF.items():
        if refused in asked and words.search(raw):
            kind = asked[refused].get("type", refused)
            sentence = f"{where} does not take {kind} ({error.status_code}); it is asked in another way."
            return failures.FormatRefused(sentence, raw=raw, refused=refused)
    return None


def _classify_status(error: openai.APIStatusError, where: str, model: str) -> failures.CallFailed:
    status, raw = error.status_code, readable(error.response.content[:LARGEST_ANSWER])
    if status == 429 and not _out_of_money(error, raw):
        return _rate_limited(error, where, raw)
    by_words = (meant for words, meant in BY_WORDS if status in (400, 413, 422) and words.search(raw))
    meant = BY_STATUS[402] if status == 429 else BY_CODE.get(error.code or "") or next(by_words, None)
    meant = meant or BY_STATUS.get(status) or BY_HUNDRED.get(status // 100)
    kind, sentence = meant or OTHERWISE
    failure = kind(sentence.format(where=where, status=status, model=model, said=_said(error)), raw=raw)
    if kind is failures.ServerError:
        wait = _retry_after(error)
        failure.retry_after = wait if wait and wait <= failures.LONGEST_WAIT else None
    return failure


def _out_of_money(error: openai.APIStatusError, raw: str) -> bool:
    """Whether a 429 will not pass by waiting. Some say the same words of a limit by the minute, and when it ends."""
    if error.code == "insufficient_quota":
        return True
    ends = _retry_after(error) is not None or re.search(r"retry.?(delay|in|after)", raw, re.IGNORECASE)
    return not ends and bool(re.search(r"exceeded your current quota|insufficient.?quota", raw, re.IGNORECASE))


def _said(error: openai.APIStatusError) -> str:
    body = error.body
    said = body.get("message") if isinstance(body, dict) else None
    return f" It said: {str(said)[:300]}" if said else ""


def _rate_limited(error: openai.APIStatusError, where: str, raw: str) -> failures.RateLimited:
    wait = _retry_after(error)
    asked = f", and asks to wait {wait:.0f} s" if wait is not None else ""
    return failures.RateLimited(f"{where} limits the rate of requests (429){asked}.", raw=raw, retry_after=wait)


def _retry_after(error: openai.APIStatusError) -> float | None:
    """Seconds that the endpoint asks to wait, from a number or a date; None for what is neither."""
    headers = error.response.headers
    in_ms, header = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    try:
        seconds = float(in_ms) / 1000 if in_ms else float(header)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(header) - timezone.now()).total_seconds())
    except (ValueError, TypeError):
        return None
