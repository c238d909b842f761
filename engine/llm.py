"""The one boundary to language models. Everything that goes out or comes back passes here.

Chat completions are posted through the openai client, streamed, and read here line by line: the client's own
stream helper costs ten times as much per piece of text and hides what really came over the wire. No hidden
retries, no redirects, no proxies from the environment. Whatever goes wrong leaves as a `CallFailed`.
"""

import asyncio
import contextlib
import zlib
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import httpx2
import openai
from openai._types import RequestOptions
from pydantic import BaseModel, ValidationError

from . import failures, rehearsal
from .answer import LARGEST_ANSWER, Reader, Reply
from .diagnosis import classify
from .providers import REHEARSAL, Provider, UnknownProvider, resolve

LONGEST_LIST = 4 * 1024 * 1024
MOST_MODELS = 2000
# a compressed answer could be a thousand times larger than it looks; some compress all the same
UNCOMPRESSED: RequestOptions = {"headers": {"Accept-Encoding": "identity"}}

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
        """How this model is asked first: as it last answered, since this process began."""
        return self._ways.get(model, Way())

    async def ask(
        self, model: str, messages: list[Message], form: Form[T], on_text: Callable[[str], None], way: Way
    ) -> Reply:
        """One attempt, within the deadline. `on_text` gets the whole text so far whenever it grows.

        FormatRefused where the endpoint does not take this way of asking.
        """
        try:
            provider, name = resolve(model)
        except UnknownProvider as error:
            raise failures.UnknownModel(str(error)) from error
        # whatever an endpoint repeats of us, no key leaves here
        reader = Reader(lambda text: on_text(provider.clean(text)), provider.clean)
        try:
            await self._attempt(provider, model, self._body(name, messages, form, way), reader)
        except failures.CallFailed as failure:
            failure.raw = failure.raw or reader.raw
            failure.said = provider.clean(reader.reply.text)
            failure.input_tokens, failure.output_tokens = reader.reply.input_tokens, reader.reply.output_tokens
            raise
        self._ways[model] = way
        return reader.reply

    async def _attempt(self, provider: Provider, model: str, body: dict[str, Any], reader: Reader) -> None:
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
            raise classify(error, provider, model, body) from error

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
            raise classify(error, provider, "", {}) from error

    async def _names(self, provider: Provider) -> list[str]:
        response: httpx2.Response = await self._client(provider).get(
            "/models", cast_to=httpx2.Response, stream=True, options=UNCOMPRESSED
        )
        try:
            listed = _Listed.model_validate_json(await _beginning(response, LONGEST_LIST))
        except ValidationError as error:
            raise failures.UnusableAnswer("The endpoint did not send a list of models.") from error
        # Gemini lists its models with the name of the collection before them
        return [provider.clean(model.id.removeprefix("models/"))[:200] for model in listed.data[:MOST_MODELS]]

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

    async def _stream(self, provider: Provider, body: dict[str, Any], reader: Reader) -> None:
        response: httpx2.Response = await self._client(provider).post(
            "/chat/completions",
            body=body,
            cast_to=httpx2.Response,
            stream=True,
            options=UNCOMPRESSED,
        )
        try:
            unpack = _unpacker(response)
            async with aclosing(response.aiter_raw()) as chunks:
                async for chunk in chunks:
                    reader.feed(unpack(chunk))
                    if reader.done:
                        break
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
    if response.status_code >= 300:
        response._content = await _beginning(response, LARGEST_ANSWER)


async def _beginning(response: httpx2.Response, most: int) -> bytes:
    """So much of a body at most, and as much of it as came before it broke off."""
    body = bytearray()
    with contextlib.suppress(httpx2.TransportError, zlib.error, failures.UnusableAnswer):
        unpack = _unpacker(response)
        async with aclosing(response.aiter_raw()) as chunks:
            async for chunk in chunks:
                body += unpack(chunk)
                if len(body) > most:
                    break
    await response.aclose()
    return bytes(body[:most])


class _Model(BaseModel):
    id: str


class _Listed(BaseModel):
    data: list[_Model]
