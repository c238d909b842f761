from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from ..forms import Text
from ..models import NAME_LENGTH, QUERY_LENGTH, SavedView, TooManyViews
from .asked import asked_of

NEEDED = f"Give the view a name of at most {NAME_LENGTH} characters."


class NameForm(forms.Form):
    name = Text(max_length=NAME_LENGTH, needed=NEEDED)

    def clean_name(self) -> str:
        return " ".join(self.cleaned_data["name"].split())

    @property
    def problem(self) -> str:
        return " ".join(dict.fromkeys([*map(str, self.errors.get("name", ())), NEEDED]))


@require_POST
def save_view(request: HttpRequest) -> HttpResponse:
    """Keep what the history is asked for under a name, as far as it can be asked for."""
    form = NameForm(request.POST)
    query = asked_of(request.user, QueryDict(request.POST.get("query", "")), None).query()
    if not form.is_valid():
        return _refuse(request, form.problem, query)
    if len(query) > QUERY_LENGTH:
        return _refuse(request, "What is sought is too long to be saved. Seek fewer words.", query)
    try:
        SavedView.objects.save_view(request.user, form.cleaned_data["name"], query)
    except TooManyViews as error:
        return _refuse(request, str(error), query)
    return redirect(_history(query))


@require_POST
def delete_view(request: HttpRequest, pk: int) -> HttpResponse:
    get_object_or_404(SavedView, pk=pk, user=request.user).delete()
    return redirect("runs-history")


def _refuse(request: HttpRequest, sentence: str, query: str) -> HttpResponse:
    context = {"title": "Not saved", "sentence": sentence, "back": _history(query), "page": "history"}
    return render(request, "runs/not_saved.html", context, status=422)


def _history(query: str) -> str:
    return f"{reverse('runs-history')}{'?' if query else ''}{query}"
