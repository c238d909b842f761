"""The icon in a browser's tab: the mark alone, or with how much waits or is at work."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

MAX_COUNT = 9  # of more a tab has no room


@login_not_required
@require_safe
@cache_control(max_age=86_400, public=True)
def favicon(request: HttpRequest) -> HttpResponse:
    """Where browsers look for the icon of a page that names none, as those of the admin."""
    return redirect(static("img/magi.svg"))


@login_not_required
@require_safe
@cache_control(max_age=86_400, public=True)
def counted_icon(request: HttpRequest, waiting: int, running: int) -> HttpResponse:
    """The mark with a number, which an address alone can name: the policy of pages lets no script draw one. What waits
    for somebody comes before what is at work."""
    number = waiting or running
    said = {"number": "9+" if number > MAX_COUNT else number, "waits": bool(waiting)}
    return render(request, "_icon.svg", said, content_type="image/svg+xml")
