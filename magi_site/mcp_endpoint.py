"""Our server of the Model Context Protocol, for programs that have a token; what it does, `runs/mcp` says."""

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
    """One message, and what comes of it. A page of another site is let nowhere, whatever it sends along."""
    if not settings.MCP_DOOR:
        raise Http404
    if not _is_of_this_site(request.headers.get("Origin", ""), request):
        return problem_response(403, "Pages of other sites may not call here.")
    token = await sync_to_async(BEARER)(request)
    if token is None:
        return refuse_caller(request, None)
    if request.method != "POST":
        return problem_response(
            405, "Send messages by POST: there is no stream to listen to.", headers=NO_STREAM_HEADERS
        )
    try:
        _ = request.body  # read here, where it can be refused
    except RequestDataTooBig as error:
        return refuse_request(request, error)
    return await answer(request)


def _is_of_this_site(origin: str, request: HttpRequest) -> bool:
    own = f"{request.scheme}://{request.get_host()}"
    return not origin or origin == own or origin in settings.CSRF_TRUSTED_ORIGINS
