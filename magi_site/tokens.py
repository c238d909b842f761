"""The page on which people make, see and revoke their own tokens."""

from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from engine.models.pace import LimitReached
from runs.api.scopes import USUAL, Scope

from .models import LONGEST_LIFE, NAME_LENGTH, USUAL_DAYS, Token

MOST_ENDED = 50  # that the page shows; those that hold it shows all


class NewToken(forms.Form):
    name = forms.CharField(max_length=NAME_LENGTH, error_messages={"required": "Say what it is for."})
    scopes = forms.MultipleChoiceField(
        choices=Scope.choices,
        widget=forms.CheckboxSelectMultiple,
        required=False,
        initial=USUAL,
    )
    days = forms.IntegerField(
        min_value=0,
        max_value=LONGEST_LIFE,
        initial=USUAL_DAYS,
        error_messages={"required": "Say for how many days it is valid; 0 for one that is valid until you revoke it."},
    )


@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """A new token is shown in the answer to its form, and never again: a message would be kept somewhere."""
    if request.method == "GET":
        return _page(request, NewToken())
    form = NewToken(request.POST)
    if not form.is_valid():
        return _page(request, form)
    try:
        made = Token.objects.make_one_of_few(request.user, **form.cleaned_data)
    except LimitReached as reached:
        response = _page(request, form, refused=str(reached))
        response.status_code, response.headers["Retry-After"] = 429, str(reached.seconds)
        return response
    return _page(request, NewToken(), made=made)


@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    mine = Token.objects.filter(owner=request.user.pk, pk=pk)
    if not mine:
        raise Http404
    mine.revoke()
    return redirect("tokens")


def _page(request: HttpRequest, form: NewToken, **more: Any) -> HttpResponse:
    mine = Token.objects.filter(owner=request.user.pk).order_by("-created")
    live = list(mine.live())
    context = {
        "form": form,
        "live": live,
        "ended": mine.exclude(pk__in=[token.pk for token in live]).select_related("owner")[:MOST_ENDED],
        "usual": USUAL_DAYS,
        **more,
    }
    return render(request, "registration/tokens.html", context)
