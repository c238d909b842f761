"""Filters of the reviewers' list of judgements, in addition to those of all runs."""

from typing import Any

from django.http import HttpRequest

from engine.text.invisible_chars import visible_text
from runs.admin.filters import RunListFilter

from ..history import councils


class CouncilListFilter(RunListFilter):
    title = parameter_name = "council"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(pk), visible_text(name)) for pk, name in councils()]
