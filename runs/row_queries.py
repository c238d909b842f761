"""What every door reads of the row of any procedure: its key is that of its run."""

from typing import Any, TypeVar

from django.db.models import Case, OuterRef, QuerySet, Subquery, When

from engine.ledger.entries import Entry

Rows = TypeVar("Rows", bound=QuerySet[Any])


def with_run(rows: Rows) -> Rows:
    """With their runs, whose they are, and what `with_reviews` brings."""
    return with_reviews(rows.select_related("run__owner", "run__cancelled_by"))


def with_reviews(rows: Rows) -> Rows:
    """With what people said of them. `record_hash`: of the newest entry of one that is over."""
    newest = Subquery(Entry.objects.filter(run=OuterRef("pk")).order_by("-seq").values("hash")[:1])
    return rows.prefetch_related("run__reviews").annotate(record_hash=Case(When(run__ended__isnull=False, then=newest)))
