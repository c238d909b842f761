"""The only client for language models: all requests and answers pass through it.

Requests are posted with the openai client, streamed, and parsed here line by line: the library's stream helper
costs ten times as much per piece of text and hides the raw response. If nobody watches,
a model that last answered fast is asked without streaming, which is cheaper still. No hidden retries, no redirects,
no proxies from the environment. All errors are `CallFailed`.

Why so: engine/DESIGN.md, What models are told and asked.
"""

import asyncio
import contextlib
import importlib
import math
import time
import zlib
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2
from pydantic import BaseModel, ValidationError

from ..text.invisible_chars import single_line
from . import errors, response_stream
from .parameters import parameters_of
from .providers import Provider, UnknownProvider, resolve_model
from .queues import ProviderQueue
from .response_format import ChatMessage, PreviewText, RequestMode, ResponseFormat, messages_for_mode
from .spoken import so_far
from .streaming import MAX_ANSWER_BYTES, ModelReply, ReplyReader

if TYPE_CHECKING:  # importing openai takes 1.2 s of CPU, needed only for model calls
    from .http_transport import StreamingOpenAI

MAX_LIST_BYTES = 4 * 1024 * 1024
MAX_MODELS = 2000
LONGEST_LISTING = 30.0  # seconds
SILENT_SECONDS = (
    10.0  # seconds: what is on the way to an endpoint gives up a silent connection after 30 at the earliest
)
MAX_SHOWN_CHARACTERS = 32 * 1024  # characters of a growing answer: more than the longest reason, however it is spelled

T = TypeVar("T")


class SignsOfLife:
    """How long the server may be silent after each piece that it sent.

    Before the answer begins any complete line counts: a server that sends comments or empty parts is not stuck.
    Afterwards only text counts, because a server that hangs in the middle of an answer may send such lines forever.
    The total timeout limits both.
    """

    def __init__(self, reader: ReplyReader, first: float, silence: float) -> None:
        self._reader, self._first, self._silence = reader, first, silence
        self._written = self._lines = 0

    def next(self) -> float | None:
        """Return the seconds allowed from now on; None if the last piece was no sign of life."""
        reader = self._reader
        written, lines = reader.written > self._written, reader.lines > self._lines
        self._written, self._lines = reader.written, reader.lines
        if reader.written:
            return self._silence if written else None
        return self._first if lines else None


class ModelClient:
    """Client for all models of this process: one HTTP client per provider, created on first use."""

    def __init__(self, timeout: float, first: float = math.inf, silence: float = math.inf) -> None:
        """Set the limits in seconds: the whole answer; its first piece, since the server last sent a line; between two
        pieces.
        """
        self.timeout, self.first_piece, self.silence = timeout, first, silence
        self._clients: dict[str, StreamingOpenAI] = {}
        self._queues: dict[str, ProviderQueue] = {}
        self._ways: dict[str, RequestMode] = {}
        self._quick: set[str] = set()  # models whose last answer came soon
        self._turns = asyncio.Lock()  # of the answers that come faster than their share

    def queue(self, model: str) -> ProviderQueue:
        """Return the queue of the model's provider. Callers must have a turn in it while they ask."""
        try:
            provider = resolve_model(model)[0]
        except UnknownProvider:
            return ProviderQueue()  # asking will say so
        return self._queues.setdefault(provider.name, ProviderQueue(provider.concurrency))

    def request_mode(self, model: str) -> RequestMode:
        """Return the request mode with which this model last answered in this process, or the default."""
        return self._ways.get(model, RequestMode())

    async def load(self) -> None:
        """Import the client library in a thread. Await it before the first question."""
        await asyncio.to_thread(importlib.import_module, "engine.llm.http_transport")

    async def ask(
        self, model: str, messages: list[ChatMessage], form: ResponseFormat[T], on_growth: PreviewText, way: RequestMode
    ) -> ModelReply:
        """Make one attempt within the deadlines. `on_growth` is called for every piece, with a function that returns
        the text.

        Raises ResponseFormatRejected if the endpoint does not support this request mode. Unless the mode requires
        streaming, a model whose last answer took less than SILENT_SECONDS is asked without it: some gateways do
        not tolerate a longer silence.
        """
        try:
            provider, name = resolve_model(model)
        except UnknownProvider as error:
            raise errors.UnknownModel(str(error)) from error
        _require_key(provider)

        def show() -> str:
            # the JSON escapes of the key are known only after decoding, so the text is cleaned twice
            return provider.clean_split(form.preview(provider.clean_split(so_far(reader.text)[:MAX_SHOWN_CHARACTERS])))

        # endpoints may echo the request: no key leaves this method
        body = self._body(name, messages, form, way, way.streams or model not in self._quick)
        body |= parameters_of(model, messages, form, way)
        reader, began = ReplyReader(lambda: on_growth(show), provider, body), time.monotonic()
        try:
            await self._attempt(provider, model, body, reader)
        except errors.CallFailed as failure:
            self._quick.discard(model)
            if isinstance(failure, errors.ResponseFormatRejected) and failure.refused == "stream":
                self._ways[model] = replace(self.request_mode(model), streams=True)
            failure.raw = failure.raw or reader.raw
            failure.said = provider.clean_split(reader.text)
            failure.input_tokens, failure.output_tokens = reader.reply.input_tokens, reader.reply.output_tokens
            failure.cached_tokens = reader.reply.cached_tokens
            raise
        self._ways[model] = replace(way, streams=self.request_mode(model).streams)
        came_soon = time.monotonic() - began < SILENT_SECONDS
        (self._quick.add if came_soon else self._quick.discard)(model)
        return reader.reply

    async def _attempt(self, provider: Provider, model: str, body: dict[str, Any], reader: ReplyReader) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        end = began + self.timeout
        try:
            async with asyncio.timeout_at(min(end, began + self.first_piece)) as deadline:
                life = SignsOfLife(reader, self.first_piece, self.silence)

                def heard() -> None:
                    if seconds := life.next():
                        deadline.reschedule(min(end, loop.time() + seconds))

                await self._stream(provider, body, reader, heard)
        except TimeoutError as error:
            raise errors.CallTimedOut(self._too_late(provider, reader, loop.time() >= end)) from error
        except errors.CallFailed:
            raise
        except Exception as error:
            # The boundary: below are an SDK, two HTTP libraries and a foreign server. Whatever they raise is one
            # failed attempt, never a broken run.
            raise _diagnosed(error, provider, model, body, answers=reader.begun) from error

    def _too_late(self, provider: Provider, reader: ReplyReader, over: bool) -> str:
        where = f"{provider.name} ({provider.host})"
        if over:
            return f"No whole answer from {where} within {self.timeout:g} s."
        if reader.writes:
            return f"{where} began an answer and then said nothing for {self.silence:g} s."
        if reader.lines:
            return f"{where} had begun no answer, and said nothing for {self.first_piece:g} s."
        return f"{where} did not begin an answer within {self.first_piece:g} s."

    async def names(self, provider: Provider) -> list[str]:
        """Return the names of the models that the provider lists, at most MAX_MODELS. Raises CallFailed."""
        _require_key(provider)
        await self.load()
        try:
            async with asyncio.timeout(longest := min(self.timeout, LONGEST_LISTING)):
                return await self._names(provider)
        except TimeoutError as error:
            sentence = f"{provider.name} ({provider.host}) lists no models within {longest:g} s."
            late = errors.CallTimedOut(sentence)
            late.advice = errors.EndpointUnreachable.advice
            raise late from error
        except errors.CallFailed:
            raise
        except Exception as error:
            # the SDK and its transport raise many types; each becomes one failed listing with a cause
            raise _diagnosed(error, provider, "", {}) from error

    async def _names(self, provider: Provider) -> list[str]:
        from .http_transport import NO_COMPRESSION

        response: httpx2.Response = await self._client(provider).get(
            "/models", cast_to=httpx2.Response, stream=True, options=NO_COMPRESSION
        )
        try:
            listed = _Listed.model_validate_json(await _beginning(response, MAX_LIST_BYTES))
        except ValidationError as error:
            raise errors.UnusableAnswer("The endpoint did not send a list of models.") from error
        # Gemini lists its models with the name of the collection before them
        names = (provider.clean(model.id.removeprefix("models/")) for model in listed.data[:MAX_MODELS])
        return [single_line(name)[:200] for name in names]

    async def close(self) -> None:
        clients, self._clients = self._clients, {}
        await asyncio.gather(*(client.close() for client in clients.values()))

    @staticmethod
    def _body(
        name: str, messages: list[ChatMessage], form: ResponseFormat[T], way: RequestMode, streams: bool
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"model": name, "messages": messages_for_mode(messages, way), "stream": streams}
        if way.answer_format in form.response_formats:
            body["response_format"] = form.response_formats[way.answer_format]
        if streams and way.counts_tokens:
            body["stream_options"] = {"include_usage": True}
        return body

    async def _stream(
        self, provider: Provider, body: dict[str, Any], reader: ReplyReader, heard: Callable[[], None]
    ) -> None:
        response = await self._client(provider).complete(body)
        if queue := self._queues.get(provider.name):
            queue.taken()
        try:
            async with aclosing(
                response_stream.read_pieces(response, response_stream.ReadShare(self._turns))
            ) as pieces:
                async for piece in pieces:
                    reader.feed(piece)
                    heard()
                    if reader.done:
                        break
        finally:
            await response.aclose()
        reader.close()

    def _client(self, provider: Provider) -> "StreamingOpenAI":
        from .http_transport import StreamingOpenAI

        if provider.name not in self._clients:
            self._clients[provider.name] = StreamingOpenAI(
                api_key=provider.api_key,
                base_url=provider.base_url,
                max_retries=0,
                http_client=response_stream.endpoint_client(provider, _cap_error_body, self._turns),
            )
        return self._clients[provider.name]


def _require_key(provider: Provider) -> None:
    """Raise Unauthorized for an empty key: no header can carry it, so nothing would be sent."""
    if not provider.api_key.strip():
        keyless = errors.Unauthorized(f"No key is set for {provider.name} ({provider.host}).")
        keyless.advice = "Set the variable of its key, or name no variable where it asks for no key."
        raise keyless


def _diagnosed(
    error: Exception, provider: Provider, model: str, body: dict[str, Any], answers: bool = False
) -> errors.CallFailed:
    from .error_mapping import classify_error

    return classify_error(error, provider, model, body, answers)


async def _cap_error_body(response: httpx2.Response) -> None:
    """Read at most MAX_ANSWER_BYTES of an error's body: the client library would read all of it, and uses what is
    read.
    """
    if response.status_code >= 300:
        response._content = await _beginning(response, MAX_ANSWER_BYTES)


async def _beginning(response: httpx2.Response, most: int) -> bytes:
    """Return at most `most` bytes of a body; fewer if it broke off."""
    body = bytearray()
    with contextlib.suppress(httpx2.TransportError, zlib.error, errors.UnusableAnswer):
        async with aclosing(response_stream.read_pieces(response, response_stream.ReadShare(asyncio.Lock()))) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) > most:
                    break
    await response.aclose()
    return bytes(body[:most])


class _Model(BaseModel):
    id: str


class _Listed(BaseModel):
    data: list[_Model]
