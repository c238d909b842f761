"""The review queue: flags, the list, and one record next to it."""

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
from ..formatting import action_text, came_to, count_noun, format_usage
from ..forms import posted_values
from ..history.query import MAX_COUNTED, MAX_NEWER
from ..history.review_queue import MAX_EXPLAINED, ReviewLine, ReviewQueue
from ..history.review_reasons import reasons_of
from ..models import SearchText
from ..procedure.spec import known_flags, spec_of_run, specs
from ..record.document import integrity_of
from ..record.redaction import erasure_of
from ..rights import EXPORT, REVIEW, PermissionReach

NOTE, OVERRIDE = "note", "override"


class ReviewForm(reviews.ReviewTextForm):
    """A note, or an override with its reason and outcome, to be confirmed; `keep` returns to the form."""

    field_order = ("what", "text", "outcome", "sure", "keep")
    what = forms.ChoiceField(choices=[(NOTE, "Note"), (OVERRIDE, "Override")], error_messages={"required": "Choose."})
    outcome = forms.ChoiceField(required=False, error_messages={"invalid_choice": "There is no such outcome."})
    sure = forms.BooleanField(required=False)
    keep = forms.BooleanField(required=False)

    def __init__(self, run: Run, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, auto_id="word-%s")
        self.run = run
        outcomes = spec_of_run(run).outcomes_of(run)
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
        elif not self.cleaned_data["sure"] and (problem := reviews.override_refusal(self.run, chosen)):
            self.add_error("outcome", problem)

    @property
    def offered(self) -> list[tuple[str, str]]:
        """Return the outcomes that can be chosen for an override."""
        return [(outcome, came_to(outcome).capitalize()) for outcome in reviews.alternatives(self.run)]

    @property
    def chosen(self) -> str:
        """Return the outcome to confirm."""
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
        """Return the arguments of `runs.reviews.add_review`."""
        said = self.cleaned_data
        return {"text": said["text"], "outcome": said["outcome"] if self.overrides else None}


@require_GET
def review(request: HttpRequest) -> HttpResponse:
    """Show the list, with its first record next to it if there is space."""
    desk = _desk(request)
    first = desk.page.found[0].pk if desk.page.found else None
    return _page(request, desk, _one(request, desk, first) if first else {})


@require_http_methods(["GET", "POST"])
def review_run(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show or review one record: next to the list, on its own page, or as a fragment for htmx."""
    desk = _desk(request)
    run = get_object_or_404(REVIEW.within(Run.objects.filter(procedure__in=specs()), request.user), pk=pk)
    if request.method == "GET":
        return _shown(request, desk, _one(request, desk, pk))
    form = ReviewForm(run, posted_values(request.POST))
    if not form.is_valid() or not form.settled:
        return _shown(request, desk, _one(request, desk, pk, form), status=200 if form.is_valid() else 422)
    try:
        said = reviews.add_review(run, request.user, **form.review)
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
    return f"{action_text(said.run)}: {came_to(said.outcome)}. It is in the record."


@require_GET
def review_numbers(request: HttpRequest) -> HttpResponse:
    """Return current numbers for an open page: flags, the causes shown, and newer runs."""
    desk = _desk(request)
    causes = {cause.key: cause for cause in desk.causes}
    shown = [(place, causes.get(key)) for place, key in enumerate(request.GET.getlist("shown")[:20], 1)]
    context = {"desk": desk, "causes": shown, "most_newer": MAX_NEWER}
    return render(request, "runs/_review_figures.html", context)


def _desk(request: HttpRequest) -> ReviewQueue:
    if REVIEW.reach(request.user) < PermissionReach.ALL:
        raise PermissionDenied("You may not review. An administrator can give you the right to.")
    return ReviewQueue(request.user, request.GET.dict(), reverse("review"))


def _shown(request: HttpRequest, desk: ReviewQueue, one: dict[str, Any], status: int = 200) -> HttpResponse:
    if request.htmx:  # type: ignore[attr-defined]
        # htmx does not swap in error responses, but the form must be shown with its error
        answer = render(request, "runs/_review_one.html", {"desk": desk, **one})
    else:
        answer = _page(request, desk, {**one, "opened": True}, status)
    patch_vary_headers(answer, ["HX-Request"])
    return answer


def _page(request: HttpRequest, desk: ReviewQueue, one: dict[str, Any], status: int = 200) -> HttpResponse:
    context = {
        "desk": desk,
        "all_in_month": _counted(desk.in_month.count()) if desk.nothing else "",
        "most_explained": MAX_EXPLAINED,
        "page": "review",
        **one,
    }
    return render(request, "runs/review.html", context, status=status)


def _counted(number: int) -> str:
    return count_noun(number, MAX_COUNTED, "run", "runs") if number else "No runs"


def _one(request: HttpRequest, desk: ReviewQueue, pk: UUID, form: ReviewForm | None = None) -> dict[str, Any]:
    """Return the context of `_review_one.html`."""
    run = get_object_or_404(Run, pk=pk)
    face = spec_of_run(run)
    row = face.rows().get(pk=pk)
    calls = face.calls(row)
    labels = SearchText.objects.flags_of([pk], known_flags(face)).get(pk, [])
    return {
        **face.page(pk),
        "run": row.run,
        "row": row,
        "display": face.display(face.snapshot(row, calls)),
        "line": desk.line_of(pk),
        "held": face.outcome_filter(row.run.override) if row.run.override else None,
        "reasons": reasons_of(row, labels),
        "used": format_usage(calls),
        "integrity": integrity_of(row.run),
        "exportable": EXPORT.covers(request.user, row.run),
        "form": form or ReviewForm(run),
        "place": _place(desk.lines, pk),
        "erasure": erasure_of(row.run),
        "result_part": [f"{face.nouns}/_review.html", "runs/_review_result.html"],
    }


def _place(lines: Sequence[ReviewLine], pk: UUID) -> dict[str, Any]:
    """Return the position in the list, with the previous and the next line."""
    found = next((number for number, line in enumerate(lines) if line.row.id == str(pk)), None)
    if found is None:
        return {}
    before, after = lines[found - 1 : found] if found else [], lines[found + 1 : found + 2]
    return {"number": found + 1, "of": len(lines), "before": before and before[0], "after": after and after[0]}
