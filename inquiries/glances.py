"""What a row of a list says of an inquiry beside what it says of any run: how often its work was sent back, how much it
has read, and whose posts these are."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, QuerySet

from runs import face

from .models import Inquiry, Order, OrderKind, Source


@dataclass(frozen=True, kw_only=True)
class Glance(face.Glance):
    """`back`: how often a critic sent work back."""

    back: int
    sources: int

    @property
    def in_figures(self) -> str:
        read = f"{self.sources} source{'s' * (self.sources != 1)}"
        return f"Rejected {self.back}×, {read}" if self.back else read


def listed(rows: QuerySet[Inquiry]) -> QuerySet[Inquiry]:
    return rows.select_related("run__owner", "roster_version").prefetch_related("posts").defer("question", "answer")


def glances(inquiries: Sequence[Inquiry]) -> dict[UUID, Glance]:
    """Of inquiries that were read with `listed`, in two more queries."""
    pks = [one.pk for one in inquiries]
    sent_back = Order.objects.filter(inquiry__in=pks, kind=OrderKind.REVIEW, decision="reject")
    back = Counter(sent_back.values_list("inquiry", flat=True))
    counted = Source.objects.filter(inquiry__in=pks).order_by().values_list("inquiry").annotate(Count("pk"))
    read = dict(counted.values_list("inquiry", "pk__count"))
    return {one.pk: _glance(one, back[one.pk], read.get(one.pk, 0)) for one in inquiries}


def _glance(one: Inquiry, back: int, read: int) -> Glance:
    saved = one.roster_version.name if one.roster_version else ""
    return Glance(saved=saved, rehearsal=one.rehearsal, back=back, sources=read)
