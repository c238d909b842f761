"""The HTTP API: who may call, how requests are read and errors said. What it can do, the procedures' routers say."""

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
from .problem_details import sign_in_refused
from .reads import reads
from .strict_json import InvalidJson, loads

log = logging.getLogger(__name__)

DESCRIPTION = (
    "Three agents judge a content in three rounds; fixed rules turn their decisions into one verdict. "
    "A token comes from the page Tokens or from the command create_token."
)
OPENAPI_SERVER = "https://site"  # stands in an example for this one


class BearerAuth(HttpBearer):
    """The one way in: `Authorization: Bearer TOKEN`. Neither cookies nor addresses let anybody in."""

    def authenticate(self, request: HttpRequest, token: str) -> Token | None:
        found = Token.objects.of(token)
        if found:
            found.mark_used(timezone.now())
            if request.method in ("GET", "HEAD"):
                reads.take(found.owner)
        return found


class StrictJsonParser(Parser):
    def parse_body(self, request: HttpRequest) -> Any:
        """Raises a Refusal, which ninja puts under an error of its own."""
        if request.content_type == "multipart/form-data" and (part := _part_beside_files(request)):
            return _read(request.POST.get(part, "").encode())
        if request.content_type != "application/json":
            raise ApiError(415, "Send the body as JSON, with Content-Type: application/json.")
        if len(request.body) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:  # sent without saying its length
            raise RequestDataTooBig
        return _read(request.body)


def _part_beside_files(request: HttpRequest) -> str:
    """The name of the part with the fields, where files may come with them: where runs with files are submitted."""
    nouns = {face.nouns: face.noun for face in specs().values() if face.takes_files}
    return nouns.get(request.path.rpartition("/")[2], "")


def _read(body: bytes) -> Any:
    try:
        return loads(body)
    except InvalidJson as error:
        raise ApiError(400, str(error)) from error


class ApiDocs(DocsBase):
    """A page of our own: it needs no script, so the policy of all pages holds for it, too."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        description = api.get_openapi_schema()
        address = f"{request.scheme}://{request.get_host()}"
        example = getattr(api, "example", "").replace(OPENAPI_SERVER, address)
        context = {"api": description, "calls": list(_calls(description)), "example": example}
        context["described"] = reverse(f"{api.urls_namespace}:openapi-json")
        return render(request, "api/docs.html", context)


class MagiApi(NinjaAPI):
    """Calls under addresses of their own, each with the errors that all have. `example`: of a call, for its page.
    `problem`: what an error is, and `problems`, how it is described."""

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
        """For `path`. A call is let in by its token; whoever has none is told so, and not sent to a form for people."""
        patterns, app_name, namespace = self.urls
        for pattern in patterns:
            login_not_required(cast(Any, pattern).callback)
        return patterns, app_name, namespace

    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        return _described(self, path_prefix or self.get_root_path(path_params or {}))


@cache  # it is a quarter of a second of work, and whoever asks need not sign in
def _described(api: "MagiApi", path_prefix: str) -> OpenAPISchema:
    """With what is true of every call: it may be refused, and how that looks."""
    schema = NinjaAPI.get_openapi_schema(api, path_prefix=path_prefix)
    model = api.problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schema["components"]["schemas"] |= {**model.pop("$defs"), api.problem.__name__: model}
    for operations in schema["paths"].values():
        for method, operation in operations.items():
            _say_what_it_needs(operation, api.problems, 401, *([429] if method == "get" else []))
    return schema


def _say_what_it_needs(operation: dict[str, Any], problems: Callable[..., dict[str, Any]], *statuses: int) -> None:
    refusals = problems(*statuses)["responses"]
    if scope := operation.get("x-scope"):
        refusals |= problems(403)["responses"]
        operation["security"] = [{name: [scope] for name in way} for way in operation["security"]]
    operation["responses"] = dict(sorted((operation["responses"] | refusals).items()))


# ---- errors -----------------------------------------------------------------------------------------------


def refuse(request: HttpRequest, refusal: Any) -> HttpResponse:
    more = {"code": refusal.code} if hasattr(refusal, "code") else {}
    return sign_in_refused(request, refusal.status, refusal.detail, refusal.errors, refusal.headers, **more)


def refuse_more(request: HttpRequest, reached: Any) -> HttpResponse:
    return sign_in_refused(request, 429, str(reached), headers={"Retry-After": str(reached.seconds)})


def refuse_body(api: NinjaAPI, request: HttpRequest, error: Any) -> HttpResponse:
    """ninja makes an error of its own of whatever a parser raises."""
    if isinstance(error.__cause__, (ApiError, SuspiciousOperation)):
        return api.on_exception(request, error.__cause__)
    return sign_in_refused(request, error.status_code, str(error))


def refuse_caller(request: HttpRequest, error: Any) -> HttpResponse:
    detail = "Send a token that holds: Authorization: Bearer TOKEN."
    return sign_in_refused(request, 401, detail, headers={"WWW-Authenticate": 'Bearer realm="magi"'})


def refuse_fields(request: HttpRequest, error: Any) -> HttpResponse:
    return refuse(request, field_errors((_path(found["loc"]), _in_words(found)) for found in error.errors))


def refuse_request(request: HttpRequest, error: Any) -> HttpResponse:
    if isinstance(error, RequestDataTooBig):
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 1024
        return sign_in_refused(request, 413, f"The body is too large. It may have {most} kB.")
    return sign_in_refused(request, 400)


def refuse_for_now(request: HttpRequest, error: Any) -> HttpResponse:
    found = database_errors.problem_of(error)
    if found is None:
        raise error
    database_errors.database_watch.note(found)
    log.error("%s %s: %s", request.method, request.path, found)
    detail = f"{found} Nothing was done; send the request again later."
    return sign_in_refused(request, 503, detail, headers={"Retry-After": str(found.wait)})


_LENGTHS = {
    "too_short": "At least {min_length} are needed, {actual_length} are given.",
    "too_long": "At most {max_length} are allowed, {actual_length} are given.",
    "string_too_short": "At least {min_length} characters are needed.",
    "string_too_long": "At most {max_length} characters are allowed.",
    "missing": "It is missing.",
    "extra_forbidden": "There is no such field.",
}


def _in_words(found: Mapping[str, Any]) -> str:
    """What people read, too, by whatever calls the API; the validator's own words where there are no better ones."""
    said = _LENGTHS.get(found["type"], "")
    try:
        return said.format(**found.get("ctx", {})) or found["msg"]
    except KeyError:
        return str(found["msg"])


def _path(place: tuple[str | int, ...]) -> str:
    """As a caller names it: ninja names the part of the request first, of a body its parameter, too."""
    return ".".join(map(str, place[2:] if place[0] == "body" else place[1:]))


COMMON_RESPONSES: Mapping[type[Exception], Callable[[HttpRequest, Any], HttpResponse]] = {
    ApiError: refuse,
    RateLimitReached: refuse_more,
    AuthenticationError: refuse_caller,
    ValidationError: refuse_fields,
    SuspiciousOperation: refuse_request,
    DBError: refuse_for_now,
}


# ---- the page -----------------------------------------------------------------------------------------------


def _calls(description: Mapping[str, Any]) -> Any:
    """What the page shows of each call."""
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


# ---- the calls of all kinds -------------------------------------------------------------------------------

EXAMPLE = f"""curl {OPENAPI_SERVER}/api/v1/judgements \\
  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
  -d '{{"content": "I am going to travel to Japan next week.", "council": "Magi"}}'"""

api = MagiApi(title="MAGI", description=DESCRIPTION, urls_namespace="api", auth=BearerAuth(), example=EXAMPLE)
for face in specs().values():
    api.add_router("", f"{face.app_name}.endpoints.router")
api.add_router("", "runs.api.endpoints.router")
api.add_router("", "runs.api.gates.router")
api.add_router("", "runs.api.webhooks.router")
