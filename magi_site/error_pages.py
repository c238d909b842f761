"""The page for internal errors (500), or for a database that is unavailable (503)."""

import re
import sys
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.forms.utils import pretty_name
from django.http import HttpRequest, HttpResponse
from django.template.loader import get_template
from django.views.defaults import server_error

from engine import database_errors

SHORT_FIELD_LENGTH = 40  # characters; a longer field is shown to be copied
AGENT_PATHS = re.compile(r"a(\d)-(\w+)")
# labels of fields whose names in the form are not what the page calls them
LABELS = {"text": "Note or reason", "reason": "Who demands it, and why"}


def error_page(request: HttpRequest) -> HttpResponse:
    """Django's `handler500`; it is called while the exception is still being handled."""
    found = database_errors.problem_of(sys.exc_info()[1])
    if found is None:
        return server_error(request)
    database_errors.database_watch.note(found)
    posted = request.method == "POST"
    context = {"trouble": found, "posted": posted, "typed": _typed(request), "path": request.get_full_path()}
    # rendered without the request: the context processors would read from the database
    page = get_template("503.html").render(context)
    return HttpResponse(page, status=503, headers={"Retry-After": str(found.wait)})


def _typed(request: HttpRequest) -> list[dict[str, Any]]:
    """The fields of the form that could not be saved, to be sent again; empty if the form has a password."""
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
    """The label that the form's page gives the field."""
    if found := AGENT_PATHS.fullmatch(name):
        return f"Agent {found[1]}, {found[2]}"
    return LABELS.get(name) or pretty_name(name)
