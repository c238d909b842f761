"""The page of letters: what is written, on its way, sent, kept, or of which nobody knows."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from ..forms import as_number
from ..outbox import SIGNS, WORDS, outbox
from .library import tabs


@require_GET
def letters(request: HttpRequest) -> HttpResponse:
    state = request.GET.get("state", "")
    if state and state not in WORDS:
        raise Http404
    found = outbox(request.user, state, as_number(request.GET.get("before", "")))
    states = [(key, word, SIGNS[key], found.counts.get(key, 0)) for key, word in WORDS.items()]
    context = {
        "posts": found.posts,
        "states": states,
        "state": state,
        "total": sum(found.counts.values()),
        "older": found.older,
        "tabs": tabs(),
        "may_say": request.user.is_staff and request.user.has_perm("engine.change_letter"),
        "list": request.path,
        "page": "library",
    }
    return render(request, "runs/outbox.html", context)
