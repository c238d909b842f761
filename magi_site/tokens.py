"""The page on which users create, list and revoke their own tokens."""

from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from engine.models.rate_limits import RateLimitReached
from runs.api.scopes import DEFAULT_SCOPES, TokenScope

from .models import DEFAULT_DAYS, MAX_DAYS, NAME_LENGTH, Token

MAX_ENDED_SHOWN = 50  # ended tokens on the page; it shows all valid ones


class NewTokenForm(forms.Form):
    name = forms.CharField(max_length=NAME_LENGTH, error_messages={"required": "Say what it is for."})
    scopes = forms.MultipleChoiceField(
        choices=TokenScope.choices,
        widget=forms.CheckboxSelectMultiple,
        required=False,
        initial=DEFAULT_SCOPES,
    )
    days = forms.IntegerField(
        min_value=0,
        max_value=MAX_DAYS,
        initial=DEFAULT_DAYS,
        error_messages={"required": "Say for how many days it is valid; 0 for one that is valid until you revoke it."},
    )


@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """Create a token and show it once, in this response: a message after a redirect would be stored."""
    if request.method == "GET":
        return _page(request, NewTokenForm())
    form = NewTokenForm(request.POST)
    if not form.is_valid():
        return _page(request, form)
    try:
        made = Token.objects.make_limited(request.user, **form.cleaned_data)
    except RateLimitReached as reached:
        response = _page(request, form, refused=str(reached))
        response.status_code, response.headers["Retry-After"] = 429, str(reached.seconds)
        return response
    return _page(request, NewTokenForm(), made=made)


@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    mine = Token.objects.filter(owner=request.user.pk, pk=pk)
    if not mine:
        raise Http404
    mine.revoke()
    return redirect("tokens")


def _page(request: HttpRequest, form: NewTokenForm, **more: Any) -> HttpResponse:
    mine = Token.objects.filter(owner=request.user.pk).order_by("-created")
    live = list(mine.live())
    context = {
        "form": form,
        "live": live,
        "ended": mine.exclude(pk__in=[token.pk for token in live]).select_related("owner")[:MAX_ENDED_SHOWN],
        "usual": DEFAULT_DAYS,
        **more,
    }
    return render(request, "registration/tokens.html", context)
