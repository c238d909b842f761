"""The icon in a browser's tab: the logo alone, or with the number of waiting or running runs."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

MAX_COUNT = 9  # the icon has room for one digit; more is shown as "9+"


@login_not_required
@require_safe
@cache_control(max_age=86_400, public=True)
def favicon(request: HttpRequest) -> HttpResponse:
    """The default address of icons, for pages that name none, such as those of the admin."""
    return redirect(static("img/magi.svg"))


@login_not_required
@require_safe
@cache_control(max_age=86_400, public=True)
def counted_icon(request: HttpRequest, waiting: int, running: int) -> HttpResponse:
    """The logo with a number: of waiting runs if there are any, otherwise of running ones.

    The numbers are part of the address because the Content-Security-Policy lets no script draw an icon.
    """
    number = waiting or running
    context = {"number": "9+" if number > MAX_COUNT else number, "waits": bool(waiting)}
    return render(request, "_icon.svg", context, content_type="image/svg+xml")
