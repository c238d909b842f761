"""Request and response schemas of the chat interface, in the names of its clients."""

from http import HTTPStatus
from typing import Any, Literal

from ninja import Field, Schema
from pydantic import ConfigDict

from runs.procedure.schemas import StrictTypes


class ChatContentPart(StrictTypes):
    type: str
    text: str = ""


class ChatMessageIn(StrictTypes):
    role: str
    content: str | list[ChatContentPart] | None = None


class ChatStreamOptions(StrictTypes):
    include_usage: bool = False


class ChatCompletionRequest(StrictTypes):
    """The last message of a user is what is asked. How an answer is drawn (temperature and the like) means nothing here
    and is left out."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={"examples": [{"model": "prefix/NAME", "messages": [{"role": "user", "content": "Go?"}]}]},
    )

    model: str
    messages: list[ChatMessageIn] = Field(min_length=1)
    stream: bool | None = False
    stream_options: ChatStreamOptions | None = None
    response_format: dict[str, Any] | None = None
    n: int | None = 1
    tool_choice: Any = None


class ChatCompletionOut(Schema):
    model_config = ConfigDict(extra="allow")

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[dict[str, Any]]
    usage: dict[str, int]


class ChatModelOut(Schema):
    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str


class ChatModelListOut(Schema):
    object: Literal["list"] = "list"
    data: list[ChatModelOut]


class ChatErrorOut(Schema):
    message: str
    type: str
    param: str | None
    code: str | None


class ChatErrorResponse(Schema):
    """What every error is, as clients of language models read it."""

    error: ChatErrorOut


def error_responses(*statuses: int) -> dict[str, Any]:
    """OpenAPI entries for the statuses with which a call may be refused."""
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Refused"}}}
    said = {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}
    return {"responses": said}


def stream_responses() -> dict[str, Any]:
    """OpenAPI entry for a response that is a stream on request."""
    return {"content": {"text/event-stream": {"schema": {"type": "string"}}}}
