from typing import Any

from django.contrib import admin
from django.template.loader import render_to_string

from engine.templatetags.visible import visible
from runs.admin import ProcedureRunAdmin
from runs.admin.filters import DateRangeFilter, FlagFilter, PersonFilter, RehearsalFilter, StatusFilter

from ..models import Judgement
from .filters import CouncilListFilter


@admin.register(Judgement)
class JudgementAdmin(ProcedureRunAdmin):
    kind = "judgement"

    list_display = ["status_word", "shown_title", "votes", "council", "who", "when", "took", "flags"]
    list_filter = [StatusFilter, FlagFilter, CouncilListFilter, PersonFilter, DateRangeFilter, RehearsalFilter]

    @admin.display(description="votes")
    def votes(self, listed: Any) -> str:
        return render_to_string("admin/judgements/_votes.html", {"row": listed.in_list.row})

    @admin.display(description="council")
    def council(self, listed: Any) -> str:
        return visible(listed.in_list.row.glance.saved)

    @admin.display(description="flags")
    def flags(self, listed: Any) -> str:
        rehearsed = ["Rehearsed"] if listed.in_list.row.glance.rehearsal else []
        return ", ".join(filter(None, [super().flags(listed), *rehearsed]))
