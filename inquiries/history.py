"""Filters and list columns of the history that only inquiries have."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from django import forms
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from runs.procedure import filters, spec

from .models import Assignment, AssignmentKind, Inquiry, InquirySource, Roster


class InquiryHistoryForm(filters.RunHistoryForm):
    roster = forms.TypedChoiceField(
        required=False, coerce=int, empty_value=None, error_messages={"invalid_choice": "There is no such roster."}
    )
    sets = ("roster",)

    def __init__(self, data: Mapping[str, Any], words: Sequence[str], people: filters.People) -> None:
        super().__init__(data, words, people)
        cast(forms.ChoiceField, self.fields["roster"]).choices = lambda: [("", "All rosters"), *team_choices()]


def team_choices() -> list[tuple[int, str]]:
    """Return id and name of the rosters that are available or were used."""
    asked = Exists(Inquiry.objects.filter(roster_version__roster=OuterRef("pk")))
    return list(Roster.objects.filter(Q(archived=None) | asked).order_by("name").values_list("pk", "name"))


@dataclass(frozen=True, kw_only=True)
class InquirySummary(spec.ListSummary):
    """`back`: number of rejections by critics."""

    back: int
    sources: int

    @property
    def in_figures(self) -> str:
        read = f"{self.sources} source{'s' * (self.sources != 1)}"
        return f"Rejected {self.back}×, {read}" if self.back else read


def prefetch_for_list(rows: QuerySet[Inquiry]) -> QuerySet[Inquiry]:
    return rows.select_related("run__owner", "roster_version").prefetch_related("posts").defer("question", "answer")


def inquiry_summaries(inquiries: Sequence[Inquiry]) -> dict[UUID, InquirySummary]:
    """Return summaries of inquiries from `prefetch_for_list`, in two more queries."""
    pks = [one.pk for one in inquiries]
    sent_back = Assignment.objects.filter(inquiry__in=pks, kind=AssignmentKind.REVIEW, decision="reject")
    back = Counter(sent_back.values_list("inquiry", flat=True))
    counted = InquirySource.objects.filter(inquiry__in=pks).order_by().values_list("inquiry").annotate(Count("pk"))
    read = dict(counted.values_list("inquiry", "pk__count"))
    return {one.pk: _summary(one, back[one.pk], read.get(one.pk, 0)) for one in inquiries}


def _summary(one: Inquiry, back: int, read: int) -> InquirySummary:
    saved = one.roster_version.name if one.roster_version else ""
    return InquirySummary(saved=saved, rehearsal=one.rehearsal, back=back, sources=read)
