from secrets import compare_digest

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

TEXT = "text/plain; version=0.0.4; charset=utf-8"


@login_not_required
@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    """Who comes without the token is told what anybody is told who asks for what is not there."""
    given = request.headers.get("Authorization", "")
    if not settings.METRICS_TOKEN or not compare_digest(given.encode(), f"Bearer {settings.METRICS_TOKEN}".encode()):
        raise Http404
    from runs.metrics import exposed  # its library is not read where nobody asks

    return HttpResponse(exposed(), content_type=TEXT)
