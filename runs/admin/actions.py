"""Actions on selected runs: cancel, retry, export, print."""

from collections.abc import Iterator
from typing import Any, cast

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from engine.ledger.checkpoints import Checkpoint, LogInconsistent
from engine.models.budgets import BudgetExceeded
from engine.models.rate_limits import RateLimitReached

from .. import run_actions
from ..procedure.spec import ProcedureSpec, rows_in
from ..record.export import BATCH, ExportSource, SelectedRuns, download
from ..rights import EXPORT, STEER, PermissionReach
from .read_only import ReadOnlyAdmin
from .run_list import RunChangeList

MAX_PRINTED = 200
TOO_MANY_TEXT = "At most {} {} fit at once, and more are selected. Select fewer, or export them as JSON Lines."


class RunAdminActions(ReadOnlyAdmin):
    actions = ["cancel", "retry", "export_table", "export_lines", "export_evidence", "print_records"]

    def requested_procedure(self, request: HttpRequest) -> ProcedureSpec[Any, Any] | None:
        """Return the procedure of the list; None for all of them."""
        raise NotImplementedError

    def has_steer_permission(self, request: HttpRequest) -> bool:
        return STEER.reach(request.user) == PermissionReach.ALL

    def has_export_permission(self, request: HttpRequest) -> bool:
        return EXPORT.reach(request.user) == PermissionReach.ALL

    @admin.action(description="Cancel selected %(verbose_name_plural)s", permissions=["steer"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        cancelled = [run_actions.cancel(row, request.user) for row in queryset]
        self.message_user(request, self._how_many(cancelled, "cancelled", "over already"))

    @admin.action(description="Retry selected %(verbose_name_plural)s", permissions=["steer"])
    def retry(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        try:
            retried = [run_actions.retry(row, request.user) for row in _whole(queryset)]
        except BudgetExceeded as error:
            self.message_user(request, f"Not all were queued again. {error}", messages.WARNING)
            return
        said = self._how_many(
            retried, "queued again", "left alone: only what failed and nobody has decided is tried again"
        )
        self.message_user(request, said)

    @admin.action(description="Export selected %(verbose_name_plural)s as CSV", permissions=["export"])
    def export_table(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponseBase | None:
        return self._file(request, queryset, "csv")

    @admin.action(description="Export selected %(verbose_name_plural)s as JSON Lines", permissions=["export"])
    def export_lines(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponseBase | None:
        return self._file(request, queryset, "jsonl")

    @admin.action(
        description="Export selected %(verbose_name_plural)s as evidence, to be verified", permissions=["export"]
    )
    def export_evidence(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponseBase | None:
        try:
            Checkpoint.objects.make()  # so that it covers all entries
        except LogInconsistent as error:
            self.message_user(request, str(error), messages.ERROR)
            return None
        return self._file(request, queryset, "evidence.jsonl")

    @admin.action(description="Print records of selected %(verbose_name_plural)s", permissions=["export"])
    def print_records(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponseBase | None:
        return self._file(request, queryset, "html", most=MAX_PRINTED)

    def _file(
        self, request: HttpRequest, queryset: QuerySet[Any], kind: str, most: int | None = None
    ) -> HttpResponseBase | None:
        """Return the selection as a file; if it is too large, show a message and return None."""
        if most is None and request.POST.get("select_across") == "1":
            return self._download(request, cast(RunChangeList, self.get_changelist_instance(request)).history, kind)
        chosen = list(queryset.values_list("pk", flat=True)[: most + 1 if most else None])
        if most and len(chosen) > most:
            self.message_user(request, TOO_MANY_TEXT.format(most, self.opts.verbose_name_plural), messages.ERROR)
            return None
        return self._download(request, SelectedRuns(chosen), kind)

    def _download(self, request: HttpRequest, source: ExportSource, kind: str) -> HttpResponseBase | None:
        address = request.build_absolute_uri("/").rstrip("/")
        try:
            return download(source, kind, address, request.user, self.requested_procedure(request))
        except RateLimitReached as reached:
            self.message_user(request, str(reached), messages.ERROR)
            return None

    def _how_many(self, changed: list[bool], done: str, else_: str) -> str:
        number, rest = sum(changed), len(changed) - sum(changed)
        sentence = f"{number} {self.opts.verbose_name if number == 1 else self.opts.verbose_name_plural} {done}."
        return f"{sentence} {rest} {'was' if rest == 1 else 'were'} {else_}." if rest else sentence


def _whole(found: QuerySet[Any]) -> Iterator[Any]:
    """Yield them as rows of their procedures, read in batches."""
    for pks in SelectedRuns(found.values_list("pk", flat=True)).batches(BATCH):
        yield from rows_in(pks)
