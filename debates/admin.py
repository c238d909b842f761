from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.template.loader import render_to_string

from engine.templatetags.visible import visible
from engine.text.invisible_chars import visible_text
from runs.admin import ProcedureRunAdmin
from runs.admin.filters import DateRangeFilter, FlagFilter, PersonFilter, RehearsalFilter, RunListFilter, StatusFilter

from .history import outcome_label, panels
from .models import Debate
from .rules.outcome import NO_DECISION


class DebateOutcomeFilter(StatusFilter):
    """Each debate has its own options: type one into the history's filter to find it."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(NO_DECISION, outcome_label(NO_DECISION)), *super().lookups(request, model_admin)]


class PanelListFilter(RunListFilter):
    title = parameter_name = "panel"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(pk), visible_text(name)) for pk, name in panels()]


@admin.register(Debate)
class DebateAdmin(ProcedureRunAdmin):
    kind = "debate"

    list_display = ["status_word", "shown_title", "seats", "panel", "who", "when", "took", "flags"]
    list_filter = [DebateOutcomeFilter, FlagFilter, PanelListFilter, PersonFilter, DateRangeFilter, RehearsalFilter]

    @admin.display(description="positions")
    def seats(self, listed: Any) -> str:
        return render_to_string("admin/debates/_seats.html", {"row": listed.in_list.row})

    @admin.display(description="panel")
    def panel(self, listed: Any) -> str:
        return visible(listed.in_list.row.glance.saved)

    @admin.display(description="flags")
    def flags(self, listed: Any) -> str:
        rehearsed = ["Rehearsed"] if listed.in_list.row.glance.rehearsal else []
        return ", ".join(filter(None, [super().flags(listed), *rehearsed]))
