from secrets import compare_digest

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import Error as DBError
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from engine import database_errors
from engine.models import Run


@login_not_required
@require_GET
def alive(request: HttpRequest) -> HttpResponse:
    return HttpResponse("alive\n", content_type="text/plain")


@login_not_required
@require_GET
def ready(request: HttpRequest) -> HttpResponse:
    """503 with the reason if the database is unavailable or no engine performs what is queued."""
    reason = _unready_reason()
    return HttpResponse(f"{reason or 'ready'}\n", content_type="text/plain", status=503 if reason else 200)


def _unready_reason() -> str:
    try:
        neglected = Run.objects.neglected().exists()
        found = database_errors.database_watch.trouble()
    except DBError as error:
        found = database_errors.problem_of(error) or database_errors.CONNECTION_LOST
        database_errors.database_watch.note(found)
        return found.reason
    if found:
        return found.reason
    return "no engine takes what is queued" if neglected else ""


METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@login_not_required
@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    """Metrics for callers with METRICS_TOKEN. All others get the 404 of an address that does not exist."""
    given = request.headers.get("Authorization", "")
    if not settings.METRICS_TOKEN or not compare_digest(given.encode(), f"Bearer {settings.METRICS_TOKEN}".encode()):
        raise Http404
    from runs.metrics import metrics_text  # imports its library only where metrics are used

    return HttpResponse(metrics_text(), content_type=METRICS_CONTENT_TYPE)
