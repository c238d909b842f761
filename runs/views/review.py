"""The reviewers' desk: what needs a look first, a list of it, and one record beside the list."""

from collections.abc import Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_GET, require_http_methods

from engine.models import Review, Run

from .. import reviews
from ..desk import MOST_EXPLAINED, Desk, Line
from ..face import face_of, faces, flags_known
from ..forms import as_typed
from ..history import MOST_COUNTED, MOST_NEWER
from ..models import SearchText
from ..reasons import reasons_of
from ..record import integrity_of
from ..redaction import erasure_of
from ..rights import EXPORT, REVIEW, Reach
from ..usage import used
from ..words import came_to, counted, deed

NOTE, OVERRIDE = "note", "override"


class WordForm(reviews.ReviewText):
    """A note, or an override with its reason and outcome, which is asked for twice; `keep` goes back to the form."""

    field_order = ("what", "text", "outcome", "sure", "keep")
    what = forms.ChoiceField(choices=[(NOTE, "Note"), (OVERRIDE, "Override")], error_messages={"required": "Choose."})
    outcome = forms.ChoiceField(required=False, error_messages={"invalid_choice": "There is no such outcome."})
    sure = forms.BooleanField(required=False)
    keep = forms.BooleanField(required=False)

    def __init__(self, run: Run, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, auto_id="word-%s")
        self.run = run
        outcomes = face_of(run).outcomes_of(run)
        choices = [(outcome, came_to(outcome).capitalize()) for outcome in outcomes]
        cast(forms.ChoiceField, self.fields["outcome"]).choices = choices
        if not outcomes:
            cast(forms.ChoiceField, self.fields["what"]).choices = [(NOTE, "Note")]

    def clean(self) -> None:
        if not self.overrides or "outcome" in self.errors:
            return
        chosen = self.cleaned_data.get("outcome")
        if not chosen:
            self.add_error("outcome", "Choose what you decide instead.")
        elif not self.cleaned_data["sure"] and (problem := reviews.why_not(self.run, chosen)):
            self.add_error("outcome", problem)

    @property
    def offered(self) -> list[tuple[str, str]]:
        """What can be decided instead."""
        return [(outcome, came_to(outcome).capitalize()) for outcome in reviews.alternatives(self.run)]

    @property
    def chosen(self) -> str:
        """What is to be confirmed."""
        return came_to(self.cleaned_data["outcome"])

    @property
    def overrides(self) -> bool:
        return self.data.get("what") == OVERRIDE

    @property
    def settled(self) -> bool:
        return self.is_valid() and (not self.overrides or self.cleaned_data["sure"])

    @property
    def to_be_confirmed(self) -> bool:
        return self.is_valid() and not self.settled and not self.cleaned_data["keep"]

    @property
    def review(self) -> dict[str, Any]:
        """As `runs.reviews.add` takes it."""
        said = self.cleaned_data
        return {"text": said["text"], "outcome": said["outcome"] if self.overrides else None}


@require_GET
def review(request: HttpRequest) -> HttpResponse:
    """The list, with its first record beside it where there is room."""
    desk = _desk(request)
    first = desk.page.found[0].pk if desk.page.found else None
    return _page(request, desk, _one(request, desk, first) if first else {})


@require_http_methods(["GET", "POST"])
def one(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One record: beside the list, on a page of its own where there is no room, and for a script by itself."""
    desk = _desk(request)
    run = get_object_or_404(REVIEW.within(Run.objects.filter(procedure__in=faces()), request.user), pk=pk)
    if request.method == "GET":
        return _shown(request, desk, _one(request, desk, pk))
    form = WordForm(run, as_typed(request.POST))
    if not form.is_valid() or not form.settled:
        return _shown(request, desk, _one(request, desk, pk, form), status=200 if form.is_valid() else 422)
    try:
        said = reviews.add(run, request.user, **form.review)
    except ValueError as error:
        messages.error(request, str(error))
        return _shown(request, desk, _one(request, desk, pk, form), status=409)
    messages.success(request, _kept(said))
    if request.htmx:  # type: ignore[attr-defined]
        fresh = _desk(request)
        return _shown(request, fresh, {**_one(request, fresh, pk), "reviewed": True})
    return redirect(f"{_desk(request).address_of(pk)}#said")


def _kept(said: Review) -> str:
    if not said.outcome:
        return "Your note is in the record."
    return f"{deed(said.run)}: {came_to(said.outcome)}. It is in the record."


@require_GET
def figures(request: HttpRequest) -> HttpResponse:
    """The numbers of an open desk as they are now: of its tiles, of the causes that it shows, and what is newer."""
    desk = _desk(request)
    causes = {cause.key: cause for cause in desk.causes}
    shown = [(place, causes.get(key)) for place, key in enumerate(request.GET.getlist("shown")[:20], 1)]
    context = {"desk": desk, "causes": shown, "most_newer": MOST_NEWER}
    return render(request, "runs/_review_figures.html", context)


def _desk(request: HttpRequest) -> Desk:
    if REVIEW.reach(request.user) < Reach.ALL:
        raise PermissionDenied("You may not review. An administrator can give you the right to.")
    return Desk(request.user, request.GET.dict(), reverse("review"))


def _shown(request: HttpRequest, desk: Desk, one: dict[str, Any], status: int = 200) -> HttpResponse:
    if request.htmx:  # type: ignore[attr-defined]
        # htmx puts nothing in that was refused, and what was typed is to stand there with its error
        answer = render(request, "runs/_review_one.html", {"desk": desk, **one})
    else:
        answer = _page(request, desk, {**one, "opened": True}, status)
    patch_vary_headers(answer, ["HX-Request"])
    return answer


def _page(request: HttpRequest, desk: Desk, one: dict[str, Any], status: int = 200) -> HttpResponse:
    context = {
        "desk": desk,
        "all_in_month": _counted(desk.in_month.count()) if desk.nothing else "",
        "most_explained": MOST_EXPLAINED,
        "page": "review",
        **one,
    }
    return render(request, "runs/review.html", context, status=status)


def _counted(number: int) -> str:
    return counted(number, MOST_COUNTED, "run", "runs") if number else "No runs"


def _one(request: HttpRequest, desk: Desk, pk: UUID, form: WordForm | None = None) -> dict[str, Any]:
    """What `_review_one.html` shows of a record."""
    run = get_object_or_404(Run, pk=pk)
    face = face_of(run)
    row = face.rows().get(pk=pk)
    calls = face.calls(row)
    labels = SearchText.objects.flags_of([pk], flags_known(face)).get(pk, [])
    return {
        **face.page(pk),
        "run": row.run,
        "row": row,
        "display": face.display(face.seen(row, calls)),
        "line": desk.line_of(pk),
        "held": face.decided(row.run.override) if row.run.override else None,
        "reasons": reasons_of(row, labels),
        "used": used(calls),
        "integrity": integrity_of(row.run),
        "exportable": EXPORT.covers(request.user, row.run),
        "form": form or WordForm(run),
        "place": _place(desk.lines, pk),
        "erasure": erasure_of(row.run),
        "result_part": [f"{face.nouns}/_review.html", "runs/_review_result.html"],
    }


def _place(lines: Sequence[Line], pk: UUID) -> dict[str, Any]:
    """Where it stands in the list that is shown, and what stands beside it."""
    found = next((number for number, line in enumerate(lines) if line.row.id == str(pk)), None)
    if found is None:
        return {}
    before, after = lines[found - 1 : found] if found else [], lines[found + 1 : found + 2]
    return {"number": found + 1, "of": len(lines), "before": before and before[0], "after": after and after[0]}
