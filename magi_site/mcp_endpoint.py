"""The endpoint of the MCP server, for programs with a token; its methods and tools are in `runs/mcp`."""

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from runs.mcp.server import answer

from .api import BearerAuth, refuse_caller, refuse_request
from .problem_details import problem_response

BEARER = BearerAuth()
NO_STREAM_HEADERS = {"Allow": "POST"}


@csrf_exempt
@login_not_required
async def mcp_endpoint(request: HttpRequest) -> HttpResponse:
    """Answer one message. Requests from pages of other sites are refused before their token is read."""
    if not settings.MCP_DOOR:
        raise Http404
    if not _is_own_origin(request.headers.get("Origin", ""), request):
        return problem_response(403, "Pages of other sites may not call here.")
    token = await sync_to_async(BEARER)(request)
    if token is None:
        return refuse_caller(request, None)
    if request.method != "POST":
        return problem_response(
            405, "Send messages by POST: there is no stream to listen to.", headers=NO_STREAM_HEADERS
        )
    try:
        _ = request.body  # read here, where a body that is too large can be refused
    except RequestDataTooBig as error:
        return refuse_request(request, error)
    return await answer(request)


def _is_own_origin(origin: str, request: HttpRequest) -> bool:
    own = f"{request.scheme}://{request.get_host()}"
    return not origin or origin == own or origin in settings.CSRF_TRUSTED_ORIGINS
