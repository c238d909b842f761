"""What the rows of councils tell, in one chain for all: each change, and that they are what the last one says."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model

from engine.evidence.chain import Draft
from engine.evidence.told import Drafts

from .models import COUNCIL, COUNCILS, Council, CouncilChange, CouncilVersion


def chains() -> Iterable[UUID]:
    return [COUNCILS] if Council.objects.exists() else []


def tell(chains: Sequence[UUID]) -> dict[UUID, Drafts]:
    if COUNCILS not in chains or not Council.objects.exists():
        return {}
    changes = list(CouncilChange.objects.select_related("version").prefetch_related("version__members"))
    drafts = [_draft(change) for change in changes]
    last = {change.council_id: (change, draft) for change, draft in zip(changes, drafts, strict=True)}
    return {COUNCILS: {COUNCIL: [*drafts, *_beyond(last), *_versions_beyond(changes)]}}


def _draft(change: CouncilChange) -> Draft:
    """What the change tells, and what its version says otherwise: whose it is, and by which name."""
    draft, version = change.draft(), change.version
    if version and version.council_id != change.council_id:
        draft.facts["version"] = {"number": version.number, "of council": version.council_id}
    if version and version.name != change.name:
        draft.facts["name"] = {"of the change": change.name, "of the version": version.name}
    return draft


def _beyond(last: dict[int, tuple[CouncilChange, Draft]]) -> Iterator[Draft]:
    """Let the draft of each last change say what the council is otherwise now; a draft for one that nobody made."""
    councils = list(Council.objects.select_related("current"))
    owners = [change.owner for change, _ in last.values() if change.owner]
    there = set(get_user_model().objects.filter(pk__in=owners).values_list("pk", flat=True))
    for council in councils:
        if council.pk not in last:
            yield Draft(COUNCIL, "", {"step": f"“{council.name}”"})
            continue
        change, draft = last[council.pk]
        then, now = change.state(), council.state()
        if council.current_id != change.version_id:
            now["version"] = {"number": now["version"], "row": council.current_id}
        if now["owner"] is None and then["owner"] not in there:  # the account was deleted
            now["owner"] = then["owner"]
        draft.facts |= {
            name: {"after its last change": then[name], "now": now[name]} for name in now if now[name] != then[name]
        }


def _versions_beyond(changes: Sequence[CouncilChange]) -> Iterator[Draft]:
    known = [change.version_id for change in changes if change.version_id]
    for version in CouncilVersion.objects.exclude(pk__in=known):
        yield Draft(COUNCIL, "", {"step": f"“{version.name}”, version {version.number}"})


def doubt(entries: Sequence[dict[str, Any]]) -> str:
    return ""
