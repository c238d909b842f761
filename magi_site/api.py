"""The HTTP API: authentication, parsing of requests, error responses. The endpoints are in the procedures' routers."""

import logging
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, cast

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import Error as DBError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, URLResolver, reverse
from django.utils import timezone
from ninja import NinjaAPI, Schema
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.openapi.docs import DocsBase
from ninja.openapi.schema import OpenAPISchema
from ninja.parser import Parser
from ninja.security import HttpBearer

from engine import database_errors
from engine.models.rate_limits import RateLimitReached
from engine.version import VERSION
from runs.api.errors import ApiError, field_errors
from runs.procedure.schemas import ProblemOut, problem_responses
from runs.procedure.spec import specs

from .models import Token
from .problem_details import error_response
from .reads import reads
from .strict_json import InvalidJson, loads

log = logging.getLogger(__name__)

DESCRIPTION = (
    "Three agents judge a content in three rounds; fixed rules turn their decisions into one verdict. "
    "A token comes from the page Tokens or from the command create_token."
)
OPENAPI_SERVER = "https://site"  # placeholder in examples; the page replaces it by its own address


class BearerAuth(HttpBearer):
    """Accepts `Authorization: Bearer TOKEN` only; session cookies do not authenticate API calls."""

    def authenticate(self, request: HttpRequest, token: str) -> Token | None:
        found = Token.objects.of(token)
        if found:
            found.mark_used(timezone.now())
            if request.method in ("GET", "HEAD"):
                reads.take(found.owner)
        return found


class StrictJsonParser(Parser):
    def parse_body(self, request: HttpRequest) -> Any:
        """Raises ApiError or RequestDataTooBig, which ninja wraps in an HttpError (see `refuse_body`)."""
        if request.content_type == "multipart/form-data" and (part := _part_beside_files(request)):
            return _read(request.POST.get(part, "").encode())
        if request.content_type != "application/json":
            raise ApiError(415, "Send the body as JSON, with Content-Type: application/json.")
        if len(request.body) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:  # without Content-Length Django does not check it
            raise RequestDataTooBig
        return _read(request.body)


def _part_beside_files(request: HttpRequest) -> str:
    """The name of the multipart field that holds the JSON: the procedure's noun.

    Empty for addresses that take no files.
    """
    nouns = {spec.nouns: spec.noun for spec in specs().values() if spec.takes_files}
    return nouns.get(request.path.rpartition("/")[2], "")


def _read(body: bytes) -> Any:
    try:
        return loads(body)
    except InvalidJson as error:
        raise ApiError(400, str(error)) from error


class ApiDocs(DocsBase):
    """Renders the API's documentation without scripts, so that the site's Content-Security-Policy allows it."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        description = api.get_openapi_schema()
        address = f"{request.scheme}://{request.get_host()}"
        example = getattr(api, "example", "").replace(OPENAPI_SERVER, address)
        context = {"api": description, "calls": list(_calls(description)), "example": example}
        context["described"] = reverse(f"{api.urls_namespace}:openapi-json")
        return render(request, "api/docs.html", context)


class MagiApi(NinjaAPI):
    """One of the site's APIs, with the parser, documentation page and error responses that all of them share.

    example: a curl command for the documentation page
    problem: schema of an error body
    problems: returns the OpenAPI `responses` for some statuses
    """

    def __init__(
        self,
        *,
        example: str = "",
        problem: type[Schema] = ProblemOut,
        problems: Callable[..., dict[str, Any]] = problem_responses,
        **more: Any,
    ) -> None:
        super().__init__(version=VERSION, parser=StrictJsonParser(), docs=ApiDocs(), **more)
        self.example, self.problem, self.problems = example, problem, problems
        for kind, handler in COMMON_RESPONSES.items():
            self.add_exception_handler(kind, handler)
        self.add_exception_handler(HttpError, partial(refuse_body, self))

    def urls_for_callers(self) -> tuple[list[URLPattern | URLResolver], str, str]:
        """The argument of `path`. Callers without a token get a 401 and no redirect to the sign-in page."""
        patterns, app_name, namespace = self.urls
        for pattern in patterns:
            login_not_required(cast(Any, pattern).callback)
        return patterns, app_name, namespace

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        return _described(self, path_prefix or self.get_root_path(path_params or {}))


@cache  # takes a quarter of a second, and anybody may request it without signing in
def _described(api: "MagiApi", path_prefix: str) -> OpenAPISchema:
    """The OpenAPI document, with the error responses and scopes of every call added."""
    schema = NinjaAPI.get_openapi_schema(api, path_prefix=path_prefix)
    model = api.problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schema["components"]["schemas"] |= {**model.pop("$defs"), api.problem.__name__: model}
    for operations in schema["paths"].values():
        for method, operation in operations.items():
            _add_refusals(operation, api.problems, 401, *([429] if method == "get" else []))
    return schema


def _add_refusals(operation: dict[str, Any], problems: Callable[..., dict[str, Any]], *statuses: int) -> None:
    refusals = problems(*statuses)["responses"]
    if scope := operation.get("x-scope"):
        refusals |= problems(403)["responses"]
        operation["security"] = [{name: [scope] for name in way} for way in operation["security"]]
    operation["responses"] = dict(sorted((operation["responses"] | refusals).items()))


# ---- errors -----------------------------------------------------------------------------------------------


def refuse(request: HttpRequest, refusal: Any) -> HttpResponse:
    more = {"code": refusal.code} if hasattr(refusal, "code") else {}
    return error_response(request, refusal.status, refusal.detail, refusal.errors, refusal.headers, **more)


def refuse_more(request: HttpRequest, reached: Any) -> HttpResponse:
    return error_response(request, 429, str(reached), headers={"Retry-After": str(reached.seconds)})


def refuse_body(api: NinjaAPI, request: HttpRequest, error: Any) -> HttpResponse:
    """Unwrap what the parser raised: ninja turns every exception of a parser into an HttpError."""
    if isinstance(error.__cause__, (ApiError, SuspiciousOperation)):
        return api.on_exception(request, error.__cause__)
    return error_response(request, error.status_code, str(error))


def refuse_caller(request: HttpRequest, error: Any) -> HttpResponse:
    detail = "Send a token that holds: Authorization: Bearer TOKEN."
    return error_response(request, 401, detail, headers={"WWW-Authenticate": 'Bearer realm="magi"'})


def refuse_fields(request: HttpRequest, error: Any) -> HttpResponse:
    return refuse(request, field_errors((_path(found["loc"]), _in_words(found)) for found in error.errors))


def refuse_request(request: HttpRequest, error: Any) -> HttpResponse:
    if isinstance(error, RequestDataTooBig):
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 1024
        return error_response(request, 413, f"The body is too large. It may have {most} kB.")
    return error_response(request, 400)


def refuse_for_now(request: HttpRequest, error: Any) -> HttpResponse:
    found = database_errors.problem_of(error)
    if found is None:
        raise error
    database_errors.database_watch.note(found)
    log.error("%s %s: %s", request.method, request.path, found)
    detail = f"{found} Nothing was done; send the request again later."
    return error_response(request, 503, detail, headers={"Retry-After": str(found.wait)})


_LENGTHS = {
    "too_short": "At least {min_length} are needed, {actual_length} are given.",
    "too_long": "At most {max_length} are allowed, {actual_length} are given.",
    "string_too_short": "At least {min_length} characters are needed.",
    "string_too_long": "At most {max_length} characters are allowed.",
    "missing": "It is missing.",
    "extra_forbidden": "There is no such field.",
}


def _in_words(found: Mapping[str, Any]) -> str:
    """The message of a validation error for people; pydantic's own where `_LENGTHS` has no better one."""
    template = _LENGTHS.get(found["type"], "")
    try:
        return template.format(**found.get("ctx", {})) or found["msg"]
    except KeyError:
        return str(found["msg"])


def _path(place: tuple[str | int, ...]) -> str:
    """The path of a field as callers know it.

    ninja puts the part of the request first ("query", "body"), and after "body" the name of the view's parameter.
    """
    return ".".join(map(str, place[2:] if place[0] == "body" else place[1:]))


COMMON_RESPONSES: Mapping[type[Exception], Callable[[HttpRequest, Any], HttpResponse]] = {
    ApiError: refuse,
    RateLimitReached: refuse_more,
    AuthenticationError: refuse_caller,
    ValidationError: refuse_fields,
    SuspiciousOperation: refuse_request,
    DBError: refuse_for_now,
}


# ---- the page ---------------------------------------------------------------------------------------------


def _calls(description: Mapping[str, Any]) -> Any:
    """The operations for the documentation page, each as a flat dict."""
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            yield {
                **operation,
                "id": operation["operationId"],
                "scope": operation.get("x-scope"),
                "method": method.upper(),
                "path": path,
                "fields": _fields(description, body),
                "answers": [(status, answer["description"]) for status, answer in operation["responses"].items()],
            }


def _fields(description: Mapping[str, Any], schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    known = description["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], {})
    needed = known.get("required", ())
    return [{"name": name, "required": name in needed, **field} for name, field in known.get("properties", {}).items()]


# ---- the routers ------------------------------------------------------------------------------------------

EXAMPLE = f"""curl {OPENAPI_SERVER}/api/v1/judgements \\
  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
  -d '{{"content": "I am going to travel to Japan next week.", "council": "Magi"}}'"""

api = MagiApi(title="MAGI", description=DESCRIPTION, urls_namespace="api", auth=BearerAuth(), example=EXAMPLE)
for spec in specs().values():
    api.add_router("", f"{spec.app_name}.endpoints.router")
api.add_router("", "runs.api.endpoints.router")
api.add_router("", "runs.api.gates.router")
api.add_router("", "runs.api.webhooks.router")
