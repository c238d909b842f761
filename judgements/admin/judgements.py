from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.admin import ShowFacets
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import path

from engine.evidence.checkpoints import BrokenLog, Checkpoint
from engine.hidden import visible_text
from engine.models.budgets import BudgetUsedUp
from engine.models.pace import LimitReached
from engine.templatetags.hidden import visible
from judgements.rights import REVIEW
from runs import reviews, steering
from runs.export import Chosen, Source, download
from runs.face import face_of, faces
from runs.forms import as_typed
from runs.models import SearchText
from runs.record import integrity_of, record_of
from runs.rights import EXPORT, REDACT, SEE, STEER, Reach

from ..again import again_of
from ..models import FLAGS, Judgement
from .filters import CouncilFilter, DateFilter, FlagFilter, PersonFilter, RehearsalFilter, StatusFilter
from .forms import ReviewForm
from .read_only import ReadOnly
from .review import ReviewList

MOST_PRINTED = 200
TOO_MANY = "At most {} judgements fit at once, and more are selected. Select fewer, or export them as JSON Lines."


@admin.register(Judgement)
class JudgementAdmin(ReadOnly):
    """The reviewers' list of judgements, and each as a whole. Rows and flags are read by the list, for all at once."""

    list_display = ["status_word", "shown_title", "votes", "council", "asked_by", "created", "took", "flags"]
    list_display_links = ["shown_title"]
    list_filter = [StatusFilter, FlagFilter, CouncilFilter, PersonFilter, DateFilter, RehearsalFilter]
    list_per_page = 50
    date_hierarchy = "run__created"
    search_fields = ["search__words"]
    search_help_text = "Words of titles, contents and reasons, or the beginning of an id. The last may be unfinished."
    show_facets = ShowFacets.NEVER
    show_full_result_count = False
    sortable_by = ()
    actions = ["cancel", "retry", "export_table", "export_lines", "export_evidence", "print_records"]

    class Media:
        css = {"all": ["css/review.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        return Judgement.objects.visible_to(request.user).whole()

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """The list is of everybody's; one's own judgements stand in the history."""
        return SEE.reach(request.user) == Reach.ALL

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return ReviewList

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """The judgement to be read. Nothing of it can be changed; a review is sent to `review_view`."""
        if request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        return self._page(request, self._judgement(request, object_id), ReviewForm())

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        self._judgement(request, object_id)
        return super().history_view(request, object_id, extra_context)

    def review_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """A reviewer adds a note or an override to it."""
        judgement = self._judgement(request, object_id)
        if request.method != "POST":  # the address of a form that was sent back
            return redirect("admin:judgements_judgement_change", object_id)
        if not REVIEW.covers(request.user, judgement.run):
            raise PermissionDenied(REVIEW.refusal("judgement"))
        form = ReviewForm(as_typed(request.POST))
        if not form.is_valid():
            return self._page(request, judgement, form)
        try:
            reviews.add(judgement.run, request.user, **form.review)
        except ValueError as error:
            self.message_user(request, str(error), messages.ERROR)
        else:
            self.message_user(request, "It is in the record.")
        return redirect("admin:judgements_judgement_change", object_id)

    def get_urls(self) -> list[Any]:
        review = self.admin_site.admin_view(self.review_view)
        return [path("<path:object_id>/review/", review, name="judgements_judgement_review"), *super().get_urls()]

    def _judgement(self, request: HttpRequest, object_id: str) -> Judgement:
        judgement = self.get_object(request, unquote(object_id))
        if not self.has_view_permission(request, judgement):
            raise PermissionDenied
        if judgement is None:
            raise Http404
        return judgement

    def _page(self, request: HttpRequest, judgement: Judgement, form: ReviewForm) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": visible_text(judgement.run.shown_title),
            "opts": self.opts,
            "media": self.media,
            "preserved_filters": self.get_preserved_filters(request),
            "face": face_of(judgement.run),
            **record_of(judgement, list(judgement.run.calls.order_by("pk"))),
            "again": again_of(judgement, request.user),
            "council": judgement.council_version,
            "flags": SearchText.objects.flags_of([judgement.pk], FLAGS).get(judgement.pk),
            "integrity": integrity_of(judgement.run),
            "form": form if REVIEW.covers(request.user, judgement.run) else None,
            "exportable": EXPORT.covers(request.user, judgement.run),
            "redactable": judgement.run.over and REDACT.covers(request.user, judgement.run),
        }
        status = 422 if form.errors else 200
        return TemplateResponse(request, "admin/judgements/judgement/change_form.html", context, status=status)

    # ---- the columns --------------------------------------------------------------------------------------

    @admin.display(description="title")
    def shown_title(self, judgement: Judgement) -> str:
        return visible(judgement.run.shown_title)

    @admin.display(description="status")
    def status_word(self, judgement: Any) -> str:
        return render_to_string("admin/judgements/judgement/_status.html", {"row": judgement.row})

    @admin.display(description="votes")
    def votes(self, judgement: Any) -> str:
        return render_to_string("admin/judgements/judgement/_votes.html", {"row": judgement.row})

    @admin.display(description="council")
    def council(self, judgement: Any) -> str:
        return visible(judgement.row.cell.council)

    @admin.display(description="asked by")
    def asked_by(self, judgement: Any) -> str:
        return visible(judgement.row.asked_by)

    @admin.display(description="created")
    def created(self, judgement: Any) -> str:
        return f"{judgement.row.created:%Y-%m-%d %H:%M}"

    @admin.display(description="took")
    def took(self, judgement: Any) -> str:
        return judgement.row.took

    @admin.display(description="flags")
    def flags(self, judgement: Any) -> str:
        rehearsed = ["Rehearsed"] if judgement.row.cell.rehearsal else []
        return ", ".join([*(flag.label for flag in judgement.flags), *rehearsed])

    # ---- actions ------------------------------------------------------------------------------------------

    def has_steer_permission(self, request: HttpRequest) -> bool:
        return STEER.reach(request.user) == Reach.ALL

    def has_export_permission(self, request: HttpRequest) -> bool:
        return EXPORT.reach(request.user) == Reach.ALL

    @admin.action(description="Cancel selected judgements", permissions=["steer"])
    def cancel(self, request: HttpRequest, queryset: QuerySet) -> None:
        cancelled = [steering.cancel(judgement, request.user) for judgement in queryset]
        self.message_user(request, _how_many(cancelled, "cancelled", "over already"))

    @admin.action(description="Retry selected judgements", permissions=["steer"])
    def retry(self, request: HttpRequest, queryset: QuerySet) -> None:
        try:
            retried = [steering.retry(judgement, request.user) for judgement in queryset]
        except BudgetUsedUp as error:
            self.message_user(request, f"Not all were queued again. {error}", messages.WARNING)
            return
        self.message_user(request, _how_many(retried, "queued again", "left alone: only what failed is tried again"))

    @admin.action(description="Export selected judgements as CSV", permissions=["export"])
    def export_table(self, request: HttpRequest, queryset: QuerySet) -> HttpResponseBase | None:
        return self._file(request, queryset, "csv")

    @admin.action(description="Export selected judgements as JSON Lines", permissions=["export"])
    def export_lines(self, request: HttpRequest, queryset: QuerySet) -> HttpResponseBase | None:
        return self._file(request, queryset, "jsonl")

    @admin.action(description="Export selected judgements as evidence, to be verified", permissions=["export"])
    def export_evidence(self, request: HttpRequest, queryset: QuerySet) -> HttpResponseBase | None:
        try:
            Checkpoint.objects.make()  # so that all of it is covered
        except BrokenLog as error:
            self.message_user(request, str(error), messages.ERROR)
            return None
        return self._file(request, queryset, "evidence.jsonl")

    @admin.action(description="Print records of selected judgements", permissions=["export"])
    def print_records(self, request: HttpRequest, queryset: QuerySet) -> HttpResponseBase | None:
        return self._file(request, queryset, "html", most=MOST_PRINTED)

    def _file(
        self, request: HttpRequest, queryset: QuerySet, kind: str, most: int | None = None
    ) -> HttpResponseBase | None:
        """What is selected in this form, or a sentence where it is more than fits."""
        address = request.build_absolute_uri("/").rstrip("/")
        if most is None and request.POST.get("select_across") == "1":
            found = cast(ReviewList, self.get_changelist_instance(request))
            return self._download(request, found.history, kind, address)
        chosen = list(queryset.values_list("pk", flat=True)[: most + 1 if most else None])
        if most and len(chosen) > most:
            self.message_user(request, TOO_MANY.format(most), messages.ERROR)
            return None
        return self._download(request, Chosen(chosen), kind, address)

    def _download(self, request: HttpRequest, source: Source, kind: str, address: str) -> HttpResponseBase | None:
        try:
            return download(source, kind, address, request.user, faces()["judgement"])
        except LimitReached as reached:
            self.message_user(request, str(reached), messages.ERROR)
            return None


def _how_many(changed: list[bool], done: str, else_: str) -> str:
    number, rest = sum(changed), len(changed) - sum(changed)
    sentence = f"{number} judgement{'' if number == 1 else 's'} {done}."
    return f"{sentence} {rest} {'was' if rest == 1 else 'were'} {else_}." if rest else sentence
