from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from engine.models import Run


@login_not_required
@require_GET
def alive(request: HttpRequest) -> HttpResponse:
    return HttpResponse("alive\n", content_type="text/plain")


@login_not_required
@require_GET
def ready(request: HttpRequest) -> HttpResponse:
    """503 with the reason where judgements cannot be taken or nobody performs them."""
    try:
        neglected = Run.objects.neglected().exists()
    except DatabaseError:
        return HttpResponse("the database does not answer\n", content_type="text/plain", status=503)
    if neglected:
        return HttpResponse("no engine takes what is queued\n", content_type="text/plain", status=503)
    return HttpResponse("ready\n", content_type="text/plain")
