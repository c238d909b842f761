from django.contrib.auth.decorators import login_not_required
from django.db import Error as DBError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from engine import trouble
from engine.models import Run


@login_not_required
@require_GET
def alive(request: HttpRequest) -> HttpResponse:
    return HttpResponse("alive\n", content_type="text/plain")


@login_not_required
@require_GET
def ready(request: HttpRequest) -> HttpResponse:
    """503 with the reason where judgements cannot be taken or nobody performs them."""
    reason = _reason_against()
    return HttpResponse(f"{reason or 'ready'}\n", content_type="text/plain", status=503 if reason else 200)


def _reason_against() -> str:
    try:
        neglected = Run.objects.neglected().exists()
        found = trouble.watch.trouble()
    except DBError as error:
        found = trouble.of(error) or trouble.GONE
        trouble.watch.note(found)
        return found.reason
    if found:
        return found.reason
    return "no engine takes what is queued" if neglected else ""
