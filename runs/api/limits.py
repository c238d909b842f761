"""How often something may be called for, said with each answer in the fields that draft-ietf-httpapi-ratelimit-headers
has for it, so that a program can slow down before it is refused.

Why so: docs/decisions.md, The API.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.http import HttpRequest, HttpResponse
from ninja.operation import Operation
from ninja.utils import contribute_operation_callback

from engine.models import LimitReached, Pace, submissions_of
from engine.models.pace import Limits

from .refusals import AGAIN, LEFT, POLICY, Refusal
from .scopes import credential

View = TypeVar("View", bound=Callable[..., HttpResponse])
LimitsOf = Callable[[Any], Limits]

DESCRIBED = {
    POLICY: "How many (q) in how many seconds (w), by name.",
    LEFT: "How many are left (r), and after how many seconds (t) all are again.",
}


def said_of(name: str, limits: Limits) -> dict[str, str]:
    """As header fields."""
    [(key, limit)] = limits.items()
    left = Pace.objects.left(key, limit)
    policy = f'"{name}";q={limit.at_once};w={round(limit.at_once * limit.seconds)}'
    return {POLICY: policy, LEFT: f'"{name}";r={left.number};t={left.seconds}'}


def paced(name: str, limits_of: LimitsOf) -> Callable[[View], View]:
    """Stands below the scope that a call needs: its answers and refusals say how many of these its caller has left, but
    for refusals before it is called: by the form of a request, by its token or scope."""

    def decorate(view: View) -> View:
        @wraps(view)
        def said(request: HttpRequest, *args: Any, **more: Any) -> HttpResponse:
            def fields() -> dict[str, str]:
                return said_of(name, limits_of(credential(request).owner))

            try:
                answer = view(request, *args, **more)
            except LimitReached as reached:
                raise Refusal(429, str(reached), headers={AGAIN: str(reached.seconds), **fields()}) from reached
            except Refusal as refusal:
                refusal.headers |= fields()
                raise
            for field, told in fields().items():
                answer[field] = told
            return answer

        contribute_operation_callback(said, _declare)
        return cast(View, said)

    return decorate


def _declare(operation: Operation) -> None:
    """In its description: of all its answers but those that it never gets to."""
    more = dict(operation.openapi_extra or {})
    fields = {field: {"description": told, "schema": {"type": "string"}} for field, told in DESCRIBED.items()}
    responses = dict(more.get("responses", {}))
    for status in {*responses, *operation.response_models} & {201, 202, 429}:
        said = responses.get(status, {})
        responses[status] = {**said, "headers": {**said.get("headers", {}), **fields}}
    operation.openapi_extra = {**more, "responses": responses}


submits = paced("submissions", submissions_of)
