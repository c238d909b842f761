"""A team that came as a text or a file, as something to be saved: its name is checked as that of a form is."""

from collections.abc import Mapping
from typing import Any

from runs import retention
from runs.forms import first_errors

from .models import Team
from .team_files import TeamRead
from .team_forms import TeamForm

KEPT = ("retention_days", "short")


class TextSubmission:
    def __init__(self, read: TeamRead, posted: Mapping[str, Any], team: Team | None) -> None:
        """`posted`: for how long texts are kept, where the page or call says so."""
        self.read, self.left_out = read, read.left_out
        days = (team or Team()).kept_days
        data = {"name": read.name, **{name: posted[name] for name in KEPT if name in posted}}
        start = {"retention_days": days, "short": retention.is_short(days)}
        self.own = TeamForm(team, data, initial=start, auto_id="%s")

    def is_valid(self) -> bool:
        return self.own.is_valid()

    def values(self) -> dict[str, Any]:
        """What `Team.objects.found` and `Team.revise` take beside who does it, once valid."""
        return {"name": self.own.cleaned_data["name"], **self.read.held}

    @property
    def retention_days(self) -> int:
        """Once valid."""
        return self.own.cleaned_data["retention_days"]

    @property
    def problems(self) -> list[tuple[str, str]]:
        return first_errors(self.own)

    def refuse_name(self) -> None:
        self.own.refuse_name()
