from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.template.loader import render_to_string

from engine.hidden import visible_text
from engine.templatetags.hidden import visible
from runs.admin import KindAdmin
from runs.admin.filters import Asked, DateFilter, FlagFilter, PersonFilter, RehearsalFilter, StatusFilter

from .filters import in_words, panels
from .models import Debate
from .rules.outcome import NO_DECISION


class OutcomeFilter(StatusFilter):
    """Options are each debate's own: those who seek one type it into the history's filter."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(NO_DECISION, in_words(NO_DECISION)), *super().lookups(request, model_admin)]


class PanelFilter(Asked):
    title = parameter_name = "panel"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(pk), visible_text(name)) for pk, name in panels()]


@admin.register(Debate)
class DebateAdmin(KindAdmin):
    kind = "debate"

    list_display = ["status_word", "shown_title", "seats", "panel", "who", "when", "took", "flags"]
    list_filter = [OutcomeFilter, FlagFilter, PanelFilter, PersonFilter, DateFilter, RehearsalFilter]

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
