"""Rate limit headers (draft-ietf-httpapi-ratelimit-headers), with which clients can slow down before a refusal.

Why so: runs/DESIGN.md, The API.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.http import HttpRequest, HttpResponse
from ninja.operation import Operation
from ninja.utils import contribute_operation_callback

from engine.models import RateBucket, RateLimitReached, recent_submissions
from engine.models.rate_limits import Limits

from .errors import AGAIN, LEFT, POLICY, ApiError
from .scopes import credential_of

View = TypeVar("View", bound=Callable[..., HttpResponse])
LimitsOf = Callable[[Any], Limits]

POLICY_HEADER = {
    POLICY: "How many (q) in how many seconds (w), by name.",
    LEFT: "How many are left (r), and after how many seconds (t) all are again.",
}


def limit_headers(name: str, limits: Limits) -> dict[str, str]:
    """Return the current state of a limit as header fields."""
    [(key, limit)] = limits.items()
    left = RateBucket.objects.left(key, limit)
    policy = f'"{name}";q={limit.at_once};w={round(limit.at_once * limit.seconds)}'
    return {POLICY: policy, LEFT: f'"{name}";r={left.number};t={left.seconds}'}


def with_rate_limit_headers(name: str, limits_of: LimitsOf) -> Callable[[View], View]:
    """Decorate an endpoint, below its scope, so that its responses and refusals have rate limit headers.

    Refusals before the endpoint is called have none: an invalid request, token or scope.
    """

    def decorate(view: View) -> View:
        @wraps(view)
        def said(request: HttpRequest, *args: Any, **more: Any) -> HttpResponse:
            def fields() -> dict[str, str]:
                return limit_headers(name, limits_of(credential_of(request).owner))

            try:
                answer = view(request, *args, **more)
            except RateLimitReached as reached:
                raise ApiError(429, str(reached), headers={AGAIN: str(reached.seconds), **fields()}) from reached
            except ApiError as refusal:
                refusal.headers |= fields()
                raise
            for field, told in fields().items():
                answer[field] = told
            return answer

        contribute_operation_callback(said, _declare)
        return cast(View, said)

    return decorate


def _declare(operation: Operation) -> None:
    """Document the headers in OpenAPI, for the responses that have them."""
    more = dict(operation.openapi_extra or {})
    fields = {field: {"description": told, "schema": {"type": "string"}} for field, told in POLICY_HEADER.items()}
    responses = dict(more.get("responses", {}))
    for status in {*responses, *operation.response_models} & {201, 202, 429}:
        said = responses.get(status, {})
        responses[status] = {**said, "headers": {**said.get("headers", {}), **fields}}
    operation.openapi_extra = {**more, "responses": responses}


count_submission = with_rate_limit_headers("submissions", recent_submissions)
