"""The outbox page."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from ..access_log import log_views
from ..forms import parse_number
from ..mail.outbox import RESOLUTIONS, STATE_ICONS, STATE_LABELS, emails_seen_by, outbox
from .library import tabs

MAY_SAY = "engine.change_letter"


@require_GET
def outbox_page(request: HttpRequest) -> HttpResponse:
    state = request.GET.get("state", "")
    if state and state not in STATE_LABELS:
        raise Http404
    found = outbox(request.user, state, parse_number(request.GET.get("before", "")))
    log_views({post.letter.run_id for post in found.posts if post.letter.run_id}, request.user)
    states = [(key, word, STATE_ICONS[key], found.counts.get(key, 0)) for key, word in STATE_LABELS.items()]
    context = {
        "posts": found.posts,
        "states": states,
        "state": state,
        "total": sum(found.counts.values()),
        "older": found.older,
        "tabs": tabs(),
        "may_say": request.user.has_perm(MAY_SAY),
        "answers": list(RESOLUTIONS.items()),
        "list": request.path,
        "page": "library",
    }
    return render(request, "runs/outbox.html", context)


@require_POST
def resolve_email(request: HttpRequest, pk: int) -> HttpResponse:
    """Record what happened to an email whose delivery is uncertain."""
    letter, said = get_object_or_404(emails_seen_by(request.user), pk=pk), request.POST.get("said", "")
    if not request.user.has_perm(MAY_SAY):
        raise PermissionDenied
    if said not in RESOLUTIONS:
        raise Http404
    if letter.state == letter.State.UNCERTAIN and letter.resolve(said):
        messages.success(request, "It is kept what became of the letter.")
    else:
        messages.error(request, "Nothing was changed: it was not uncertain any more, or its texts were erased.")
    return redirect("outbox")
