"""Queries that every interface uses for the row of a procedure; its key is the key of its run."""

from typing import Any, TypeVar

from django.db.models import Case, OuterRef, QuerySet, Subquery, When

from engine.ledger.entries import AuditEntry

Rows = TypeVar("Rows", bound=QuerySet[Any])


def with_run(rows: Rows) -> Rows:
    """Add the runs, their owners, who cancelled them, and what `with_reviews` reads."""
    return with_reviews(rows.select_related("run__owner", "run__cancelled_by"))


def with_reviews(rows: Rows) -> Rows:
    """Add the reviews and `record_hash`, the hash of the newest audit entry of a run that is over."""
    newest = Subquery(AuditEntry.objects.filter(run=OuterRef("pk")).order_by("-seq").values("hash")[:1])
    return rows.prefetch_related("run__reviews").annotate(record_hash=Case(When(run__ended__isnull=False, then=newest)))
