"""A page that verifies evidence files in the reader's browser. The files are never sent to the site.

Why so: engine/DESIGN.md, The record.
"""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from runs.record.evidence_file import VERIFIER

from .middleware import HEADERS

POLICY = "Content-Security-Policy"
# the page cannot send the evidence anywhere: neither by a request nor by a form
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
    """The same verification as a Python program."""
    disposition = 'attachment; filename="verify.py"'
    return HttpResponse(
        VERIFIER.read_bytes(), content_type="text/x-python; charset=utf-8", headers={"Content-Disposition": disposition}
    )
