"""What is answered when something broke: the page for a fault of ours, or one that says what the database has."""

import re
import sys
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.forms.utils import pretty_name
from django.http import HttpRequest, HttpResponse
from django.template.loader import get_template
from django.views.defaults import server_error

from engine import database_errors

SHORT_FIELD_LENGTH = 40  # characters of a field that nobody would want to copy
AGENT_PATHS = re.compile(r"a(\d)-(\w+)")
LABELS = {"text": "Note or reason", "reason": "Who demands it, and why"}
"""Where a page calls a field otherwise than the program does."""


def error_page(request: HttpRequest) -> HttpResponse:
    """Django's `handler500`: called while the error is being handled, wherever it came from."""
    found = database_errors.problem_of(sys.exc_info()[1])
    if found is None:
        return server_error(request)
    database_errors.database_watch.note(found)
    posted = request.method == "POST"
    context = {"trouble": found, "posted": posted, "typed": _typed(request), "path": request.get_full_path()}
    # without the request: what it brings into a page is read from the database
    page = get_template("503.html").render(context)
    return HttpResponse(page, status=503, headers={"Retry-After": str(found.wait)})


def _typed(request: HttpRequest) -> list[dict[str, Any]]:
    """The fields of the form that could not be saved, to be sent again; nothing where a password is among them."""
    try:
        fields = [(name, value) for name, values in request.POST.lists() for value in values]
    except (OSError, SuspiciousOperation):
        return []
    if any("password" in name for name, _ in fields):
        return []
    return [
        {
            "name": name,
            "label": _label(name),
            "value": value,
            "long": len(str(value)) > SHORT_FIELD_LENGTH and name != "csrfmiddlewaretoken",
        }
        for name, value in fields
    ]


def _label(name: str) -> str:
    """As the page calls it that the field is on."""
    if found := AGENT_PATHS.fullmatch(name):
        return f"Agent {found[1]}, {found[2]}"
    return LABELS.get(name) or pretty_name(name)
