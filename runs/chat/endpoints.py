"""An OpenAI-compatible interface: runs are started and answered as chat completions.

Why so: runs/DESIGN.md, Other doors.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from ninja import Router
from ninja.errors import AuthenticationError

from engine.db.reader import read
from engine.models import Run
from engine.text.invisible_chars import visible_json
from runs.api import internal_client
from runs.api.errors import ApiError, field_errors
from runs.api.idempotent_submit import IdempotencyHeader
from runs.api.responses import address_of, json_response, stream_response
from runs.api.scopes import credential_of
from runs.api.waiting import FoundRun, follow_run, read_queued, until_ended
from runs.procedure.exposure import ChatModel
from runs.procedure.spec import ProcedureSpec, snapshot_of, spec_of_run, specs

from . import completion, schemas, structured_output

router = Router()
MAX_WAIT_SECONDS = 570.0  # seconds; the usual client gives up after 600
OWNED_BY = "magi"
NOT_OVER_TEXT = "It is not over after {:.0f} seconds and goes on: {}"


@dataclass(frozen=True)
class ChatRequest:
    """A started run and the form of the response."""

    pk: UUID
    kind: ChatModel
    model: str
    names: Sequence[str] | None
    with_usage: bool


def chat_models() -> list[tuple[ProcedureSpec[Any, Any], ChatModel]]:
    return [(face, face.as_model) for face in specs().values() if face.as_model]


# ---- lists ------------------------------------------------------------------------------------------------


@router.get("/models", response=schemas.ChatModelListOut, summary="What can be asked")
def models(request: HttpRequest) -> HttpResponse:
    return json_response({"object": "list", "data": [_model(one) for one in _all_names()]})


@router.get(
    "/models/{path:name}",
    response=schemas.ChatModelOut,
    openapi_extra=schemas.error_responses(404),
    summary="One of what can be asked",
)
def model(request: HttpRequest, name: str) -> HttpResponse:
    _, kind, own = _chosen(name)
    return json_response(_model(f"{kind.prefix}/{own}"))


def _all_names() -> list[str]:
    return [f"{kind.prefix}/{name}" for _, kind in chat_models() for name in kind.names()]


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": OWNED_BY}


def _chosen(model: str) -> tuple[ProcedureSpec[Any, Any], ChatModel, str]:
    """Return procedure, exposed model and preset name for the name of a model."""
    prefix, _, name = model.partition("/")
    for face, kind in chat_models():
        found = next((one for one in kind.names() if one.lower() == name.lower()), None)
        if kind.prefix == prefix and found:
            return face, kind, found
    known = ", ".join(_all_names()[:20])
    raise completion.NoAnswerYet(
        404, f"There is no model “{model}” here. There are: {known}.", "model_not_found", [("model", "")]
    )


# ---- asking -----------------------------------------------------------------------------------------------


ERROR_RESPONSES = schemas.error_responses(400, 402, 403, 404, 409, 413, 415, 429, 502, 503, 504)
ERROR_RESPONSES["responses"][200] = schemas.stream_responses()


@router.post(
    "/chat/completions",
    response=schemas.ChatCompletionOut,
    openapi_extra=ERROR_RESPONSES,
    summary="Ask, as a language model is asked",
)
async def create_completion(
    request: HttpRequest, asked: schemas.ChatCompletionRequest, key: IdempotencyHeader = None
) -> HttpResponseBase:
    """Starts a run from the last user message and answers with its result.

    The answer is a text that starts with the outcome, or what `response_format` asks for. Scopes, limits and
    idempotency keys are those of the API.
    """
    face, kind, name = await sync_to_async(_chosen)(asked.model)
    names, said = _names(asked, kind), _last_words(asked)
    try:
        begun = await internal_client.call_api(request, "POST", face.nouns, kind.body(name, said))
    except ApiError as refusal:
        raise _in_its_words(refusal) from refusal
    usage = bool(asked.stream_options and asked.stream_options.include_usage)
    this = ChatRequest(UUID(begun["id"]), kind, f"{kind.prefix}/{name}", names, usage)
    if asked.stream:
        pieces = _pieces(request, this)
        await anext(pieces)
        return stream_response(pieces)
    await until_ended(this.pk, credential_of(request).owner, MAX_WAIT_SECONDS)
    # in the single reader thread: many waits end at once
    return await read(partial(_answer, request, this))


def _names(asked: schemas.ChatCompletionRequest, kind: ChatModel) -> list[str] | None:
    if asked.n not in (None, 1):
        raise field_errors([("n", "There is one answer.")])
    if asked.tool_choice not in (None, "none", "auto"):
        raise field_errors([("tool_choice", "No tool is used here, so none can be demanded.")])
    try:
        return structured_output.fields_for_schema(asked.response_format, kind.known)
    except structured_output.SchemaNotSupported as error:
        raise field_errors([("response_format", str(error))]) from error


def _last_words(asked: schemas.ChatCompletionRequest) -> str:
    last = next((one for one in reversed(asked.messages) if one.role == "user"), None)
    parts = last.content if last and last.content else ""
    if isinstance(parts, str):
        return parts
    if any(part.type != "text" for part in parts):
        raise field_errors([("messages", "Texts alone are read here, no pictures, sounds or files.")])
    return "\n".join(part.text for part in parts)


def _in_its_words(refusal: ApiError) -> ApiError:
    """Drop the API's field paths, which mean nothing to the sender of a message."""
    said = " ".join(message for _, message in refusal.errors)
    return ApiError(
        refusal.status, f"{refusal.detail} {said}".strip(), [("messages", "")] if said else (), refusal.headers
    )


# ---- answering --------------------------------------------------------------------------------------------


def _answer(request: HttpRequest, this: ChatRequest) -> HttpResponse:
    run, seen = _seen(request, this)
    if not run.is_ended:
        raise _too_slow(run, seen)
    return json_response(
        completion.completion(run, seen, this.model, completion.answer_text(this.kind, run, seen, this.names))
    )


def _seen(request: HttpRequest, this: ChatRequest) -> tuple[Run, dict[str, Any]]:
    """Read the run after a wait. The token may have been revoked, and its owner may have lost rights."""
    holder = credential_of(request).holder()
    if holder is None:
        raise AuthenticationError
    return completion.read_run(holder, this.pk, address_of(request))


def _too_slow(run: Run, seen: dict[str, Any]) -> completion.NoAnswerYet:
    return completion.NoAnswerYet(504, NOT_OVER_TEXT.format(MAX_WAIT_SECONDS, seen["url"]), "timeout")


async def _pieces(request: HttpRequest, this: ChatRequest) -> AsyncGenerator[str, None]:
    """Stream events as reasoning, then the answer line by line. Errors are sent within the stream."""
    heard, ended = "", False

    async def looked() -> FoundRun:
        nonlocal heard, ended
        run, seen, news = await read_queued(partial(_news, request, this))
        if run.is_ended:
            ended = True
            return FoundRun(_ending(run, seen, this), last=True)
        fresh, heard = ("" if news == heard else news), news
        return FoundRun(
            [_event(completion.chunk(run, this.model, {"reasoning_content": f"{fresh}\n"}))] if fresh else []
        )

    async with aclosing(follow_run(credential_of(request).owner, looked, this.pk)) as pieces:
        yield await anext(pieces)  # a slot, or a refusal
        try:
            async for piece in pieces:
                yield piece
        except AuthenticationError:
            yield _error("The token holds no longer.", "invalid_api_key")
        except ApiError as refusal:
            yield _error(refusal.detail, getattr(refusal, "code", None))
        else:
            if not ended:
                yield _error("Others needed the place more. It goes on.", "server_error")


def _news(request: HttpRequest, this: ChatRequest) -> tuple[Run, dict[str, Any], str]:
    run, seen = _seen(request, this)
    return run, seen, "" if run.is_ended else _announced(run)


def _announced(run: Run) -> str:
    return str(spec_of_run(run).display(snapshot_of(run)).announcement)


def _ending(run: Run, seen: dict[str, Any], this: ChatRequest) -> list[str]:
    try:
        text = completion.answer_text(this.kind, run, seen, this.names)
    except completion.NoAnswerYet as error:
        return [_error(error.detail, error.code)]
    said = [{"role": "assistant", "content": ""}, *({"content": line} for line in text.splitlines(keepends=True))]
    events = [completion.chunk(run, this.model, delta) for delta in said]
    events.append(completion.chunk(run, this.model, {}, last=True))
    events += [completion.usage_chunk(run, seen, this.model)] if this.with_usage else []
    return [*map(_event, events), "data: [DONE]\n\n"]


def _event(content: Any) -> str:
    return f"data: {visible_json(content)}\n\n"


def _error(message: str, code: str | None) -> str:
    return _event({"error": {"message": message, "type": "server_error", "param": None, "code": code}})
