"""The page of letters: what is written, on its way, sent, kept, or of which nobody knows."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from ..forms import as_number
from ..given_looks import note_looks
from ..outbox import ANSWERS, SIGNS, WORDS, outbox, seen_by
from .library import tabs

MAY_SAY = "engine.change_letter"


@require_GET
def letters(request: HttpRequest) -> HttpResponse:
    state = request.GET.get("state", "")
    if state and state not in WORDS:
        raise Http404
    found = outbox(request.user, state, as_number(request.GET.get("before", "")))
    note_looks({post.letter.run_id for post in found.posts if post.letter.run_id}, request.user)
    states = [(key, word, SIGNS[key], found.counts.get(key, 0)) for key, word in WORDS.items()]
    context = {
        "posts": found.posts,
        "states": states,
        "state": state,
        "total": sum(found.counts.values()),
        "older": found.older,
        "tabs": tabs(),
        "may_say": request.user.has_perm(MAY_SAY),
        "answers": list(ANSWERS.items()),
        "list": request.path,
        "page": "library",
    }
    return render(request, "runs/outbox.html", context)


@require_POST
def say(request: HttpRequest, pk: int) -> HttpResponse:
    """What became of one of which nobody knows whether it was sent."""
    letter, said = get_object_or_404(seen_by(request.user), pk=pk), request.POST.get("said", "")
    if not request.user.has_perm(MAY_SAY):
        raise PermissionDenied
    if said not in ANSWERS:
        raise Http404
    if letter.state == letter.State.UNCERTAIN and letter.say(said):
        messages.success(request, "It is kept what became of the letter.")
    else:
        messages.error(request, "Nothing was changed: it was not uncertain any more, or its texts were erased.")
    return redirect("outbox")
