"""A page that looks at evidence in the reader's browser. The site serves it and learns nothing of who looks at what.

Why so: docs/decisions.md, The record.
"""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from runs.record.evidence_file import VERIFIER

from .middleware import HEADERS

POLICY = "Content-Security-Policy"
# what is on the page can send nothing anywhere: no request, no form
NO_CONNECT_POLICY = (
    HEADERS[POLICY]
    .replace("connect-src 'self'", "connect-src 'none'")
    .replace("form-action 'self'", "form-action 'none'")
)


@login_not_required
@require_GET
def verifier_page(request: HttpRequest) -> HttpResponse:
    response = render(request, "check.html")
    response.headers[POLICY] = NO_CONNECT_POLICY
    return response


@login_not_required
@require_GET
def verifier_program(request: HttpRequest) -> HttpResponse:
    """What looks at it without a browser."""
    disposition = 'attachment; filename="verify.py"'
    return HttpResponse(
        VERIFIER.read_bytes(), content_type="text/x-python; charset=utf-8", headers={"Content-Disposition": disposition}
    )
