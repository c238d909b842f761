from collections.abc import Mapping, Sequence
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import ShowFacets
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import path, reverse

from engine.models import REVIEW_LENGTH, Run
from engine.templatetags.visible import visible
from engine.text.invisible_chars import visible_text

from .. import reviews
from ..forms import PlainTextField, posted_values
from ..models import SearchText
from ..procedure.spec import known_flags, spec_of_run, specs
from ..record.document import integrity_of, record_of
from ..rights import EXPORT, REDACT, REVIEW, SEE, PermissionReach
from .actions import RunAdminActions
from .filters import KIND, AnyFace, DateRangeFilter, FlagFilter, KindFilter, PersonFilter, StatusFilter
from .run_list import RunChangeList

NOTE = "note"


class AdminReviewForm(forms.Form):
    """A note, or an override with one of the `outcomes` and its reason."""

    what = forms.ChoiceField(
        widget=forms.RadioSelect,
        initial=NOTE,
        error_messages={"required": "Choose what it is.", "invalid_choice": "Choose what it is."},
    )
    text = PlainTextField(
        max_length=REVIEW_LENGTH, needed="Write the note, or the reason for deciding otherwise.", lines=True
    )

    def __init__(self, outcomes: Sequence[str], data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        what = cast(forms.ChoiceField, self.fields["what"])
        what.choices = [(NOTE, "Note"), *((outcome, f"Override: {outcome}") for outcome in outcomes)]

    @property
    def review(self) -> dict[str, Any]:
        """Return the arguments of `runs.reviews.add_review`."""
        what = self.cleaned_data["what"]
        return {"text": self.cleaned_data["text"], "outcome": None if what == NOTE else what}


@admin.register(Run)
class RunAdmin(RunAdminActions):
    """The admin's list of runs, and each run as a document. The list reads rows and flags for all lines at once.

    No column has the name of a field: the admin would show the field.
    """

    list_display = ["status_word", "shown_title", "kind_word", "who", "when", "took", "flags"]
    list_display_links = ["shown_title"]
    list_filter = [KindFilter, StatusFilter, FlagFilter, PersonFilter, DateRangeFilter]
    list_per_page = 50
    date_hierarchy = "created"
    search_fields = ["search__words"]
    search_help_text = "Words of titles, contents and reasons, or the beginning of an id. The last may be unfinished."
    show_facets = ShowFacets.NEVER
    show_full_result_count = False
    sortable_by = ()
    change_list_template = "admin/runs/change_list.html"

    class Media:
        css = {"all": ["css/review.css"]}

    def requested_procedure(self, request: HttpRequest) -> AnyFace | None:
        return specs().get(request.GET.get(KIND, ""))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return SEE.within(Run.objects.filter(procedure__in=specs()), request.user)

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        return [name for name in self.list_display if name != "kind_word" or len(specs()) > 1]

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Only for users who may see all runs; own runs are in the history."""
        return SEE.reach(request.user) == PermissionReach.ALL

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return RunChangeList

    # ---- one of them --------------------------------------------------------------------------------------

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the run, read-only; reviews are posted to `review_view`."""
        if request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        row = self._row(request, object_id)
        return self._page(request, row, AdminReviewForm(reviews.alternatives(row.run)))

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        self._found(request, object_id)
        return super().history_view(request, object_id, extra_context)

    def review_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Add a note or an override."""
        row = self._row(request, object_id)
        if request.method != "POST":  # a reload of a refused form
            return redirect(f"admin:{self._name('change')}", object_id)
        face = spec_of_run(row.run)
        if not REVIEW.covers(request.user, row.run):
            raise PermissionDenied(REVIEW.refusal(face.noun))
        form = AdminReviewForm(face.outcomes_of(row.run), posted_values(request.POST))
        if not form.is_valid():
            return self._page(request, row, form)
        try:
            reviews.add_review(row.run, request.user, **form.review)
        except ValueError as error:
            self.message_user(request, str(error), messages.ERROR)
            return self._page(request, row, form)
        self.message_user(request, "It is in the record.")
        return redirect(f"admin:{self._name('change')}", object_id)

    def get_urls(self) -> list[Any]:
        review = self.admin_site.admin_view(self.review_view)
        return [path("<path:object_id>/review/", review, name=self._name("review")), *super().get_urls()]

    def _name(self, page: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{page}"

    def _found(self, request: HttpRequest, object_id: str) -> Any:
        found = self.get_object(request, unquote(object_id))
        if not self.has_view_permission(request, found):
            raise PermissionDenied
        if found is None:
            raise Http404
        return found

    def _row(self, request: HttpRequest, object_id: str) -> Any:
        """Return it as the row of its procedure with all that a page shows."""
        found = self._found(request, object_id)
        return spec_of_run(found).rows().get(pk=found.pk)

    def _page(self, request: HttpRequest, row: Any, form: AdminReviewForm) -> HttpResponse:
        run = row.run
        face = spec_of_run(run)
        context = {
            **self.admin_site.each_context(request),
            **face.page(run.pk),
            "title": visible_text(run.shown_title),
            "opts": self.opts,
            "media": self.media,
            "preserved_filters": self.get_preserved_filters(request),
            "row": row,
            **record_of(row, list(run.calls.order_by("pk").defer(None).defer(*face.record_without))),
            **face.viewer_context(request, row),
            "record_part": f"{face.nouns}/_record.html",
            "flags": SearchText.objects.flags_of([run.pk], known_flags(face)).get(run.pk),
            "integrity": integrity_of(run),
            "form": form if REVIEW.covers(request.user, run) else None,
            "review_address": reverse(f"admin:{self._name('review')}", args=[run.pk]),
            "exportable": EXPORT.covers(request.user, run),
            "redactable": run.is_ended and REDACT.covers(request.user, run),
        }
        templates = [f"admin/{face.nouns}/run.html", "admin/runs/run.html"]
        return TemplateResponse(request, templates, context, status=422 if form.errors else 200)

    # ---- the columns --------------------------------------------------------------------------------------

    @admin.display(description="status")
    def status_word(self, listed: Any) -> str:
        return render_to_string("admin/runs/_status.html", {"row": listed.in_list.row})

    @admin.display(description="title")
    def shown_title(self, listed: Any) -> str:
        return visible(listed.in_list.row.title)

    @admin.display(description="kind")
    def kind_word(self, listed: Any) -> str:
        return listed.in_list.row.face.noun.capitalize()

    @admin.display(description="asked by")
    def who(self, listed: Any) -> str:
        return visible(listed.in_list.row.asked_by)

    @admin.display(description="created")
    def when(self, listed: Any) -> str:
        return f"{listed.in_list.row.created:%Y-%m-%d %H:%M}"

    @admin.display(description="took")
    def took(self, listed: Any) -> str:
        return listed.in_list.row.took

    @admin.display(description="flags")
    def flags(self, listed: Any) -> str:
        return ", ".join(flag.label for flag in listed.in_list.flags)


class ProcedureRunAdmin(RunAdmin):
    """The list of one procedure, registered by it for its rows, with its own columns and filters."""

    kind: str

    list_display = ["status_word", "shown_title", "who", "when", "took", "flags"]
    list_filter = [StatusFilter, FlagFilter, PersonFilter, DateRangeFilter]
    date_hierarchy = "run__created"

    def requested_procedure(self, request: HttpRequest) -> AnyFace:
        return specs()[self.kind]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return SEE.within(specs()[self.kind].rows(), request.user, "run__owner_id")

    def _row(self, request: HttpRequest, object_id: str) -> Any:
        return self._found(request, object_id)
