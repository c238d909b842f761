"""What the reviewers' list of judgements can be asked for beside what any list of runs can."""

from typing import Any

from django.http import HttpRequest

from engine.text.invisible_chars import visible_text
from runs.admin.filters import RunListFilter

from ..history import councils


class CouncilListFilter(RunListFilter):
    title = parameter_name = "council"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(pk), visible_text(name)) for pk, name in councils()]
