"""The query of the history's address, for its page, exports and updates."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from ..history.query import AnyFace, RunHistory
from ..history.user_lookup import requesters
from ..procedure.filters import RunHistoryForm
from ..procedure.spec import ProcedureSpec, specs
from ..rights import SEE, PermissionReach, RunRight


@dataclass(frozen=True)
class HistoryQuery:
    """A parsed query. `face` is the only procedure that exists or is selected; `fixed` is that of the address."""

    user: Any
    fixed: AnyFace | None
    kinds: tuple[str, ...]
    face: AnyFace | None
    form: RunHistoryForm

    @property
    def history(self) -> RunHistory:
        return self.of(self.form.search_terms)

    def of(self, sought: dict[str, Any], right: RunRight = SEE) -> RunHistory:
        return RunHistory(self.user, sought, right, self.face, self.kinds)

    @property
    def filtered(self) -> dict[str, Any]:
        """Return the filters without the order."""
        return {name: value for name, value in self.form.search_terms.items() if name != "sort"}

    def query(self, **otherwise: Any) -> str:
        """Return the query string, without empty or invalid values."""
        sought = {**self.form.search_terms, **otherwise}
        pairs = [(name, str(value)) for name, value in sought.items() if value not in ("", None)]
        return urlencode([*(("kind", kind) for kind in self.kinds), *pairs])

    @property
    def whole_query(self) -> str:
        """Return the equivalent query of the history of all procedures."""
        kind = urlencode([("kind", self.fixed.kind)] if self.fixed and len(specs()) > 1 else [])
        return "&".join(filter(None, (kind, self.query())))

    def only(self, sought: dict[str, Any]) -> str:
        """Return the address with only these filters, for the same procedures."""
        return self.address_of(self.query(**(dict.fromkeys(self.form.search_terms) | sought)))

    def address_of(self, query: str) -> str:
        return f"{self.list}{'?' if query else ''}{query}"

    @property
    def list(self) -> str:
        return self.address("history")

    def address(self, page: str, *args: str) -> str:
        return reverse(self.fixed.page_name(page) if self.fixed else f"runs-{page}", args=args)


def history_query(user: Any, query: QueryDict, fixed: AnyFace | None) -> HistoryQuery:
    known = specs()
    ticked = tuple(kind for kind in known if kind in query.getlist("kind")) if not fixed and len(known) > 1 else ()
    chosen = ticked or tuple(known)
    face = fixed or (known[chosen[0]] if len(chosen) == 1 else None)
    people = requesters() if SEE.reach(user) == PermissionReach.ALL else []
    if face:
        return HistoryQuery(user, fixed, ticked, face, face.form(query, people, user))
    outcomes = {outcome: None for kind in chosen for outcome in known[kind].outcomes}
    form = RunHistoryForm(query, (*outcomes, *ProcedureSpec.standings), people)
    for kind in chosen:
        form.extra_filters(known[kind].form(query, people, user))
    return HistoryQuery(user, fixed, ticked, None, form)
