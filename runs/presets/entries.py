"""Audit entries of presets, one chain per model: each change, and whether the rows match the last one."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from django.contrib.auth import get_user_model

from engine.audit.entries_from_rows import Drafts
from engine.ledger.hashing import EntryDraft

from ..models.presets import Preset, PresetChange


class PresetEntrySource:
    """A `ChainEntrySource` for the `chains` of a procedure."""

    def __init__(self, model: type[Preset]) -> None:
        self.model = model

    @property
    def change(self) -> type[PresetChange]:
        return self.model.changes.rel.related_model

    def chain_keys(self) -> Iterable[UUID]:
        return [self.change.chain] if self.model.objects.exists() else []

    def build_entries(self, chains: Sequence[UUID]) -> dict[UUID, Drafts]:
        change = self.change
        if change.chain not in chains or not self.model.objects.exists():
            return {}
        changes = list(change.objects.select_related("version").prefetch_related(*change.told_with))
        drafts = [_draft(one) for one in changes]
        last = {one.saved_id: (one, draft) for one, draft in zip(changes, drafts, strict=True)}
        return {change.chain: {change.entry: [*drafts, *self._beyond(last), *self._versions_beyond(changes)]}}

    def validate_entries(self, entries: Sequence[dict[str, Any]]) -> str:
        return ""

    def _beyond(self, last: dict[int, tuple[Any, EntryDraft]]) -> Iterator[EntryDraft]:
        """Add to each last draft what differs from the current row; yield a draft for each preset without a change."""
        owners = [change.owner for change, _ in last.values() if change.owner]
        there = set(get_user_model().objects.filter(pk__in=owners).values_list("pk", flat=True))
        for saved in list(self.model.objects.select_related("current")):
            if saved.pk not in last:
                yield EntryDraft(self.change.entry, "", {"step": f"“{saved.name}”"})
                continue
            change, draft = last[saved.pk]
            then, now = change.state(), saved.state()
            if saved.current_id != change.version_id:
                now["version"] = {"number": now["version"], "row": saved.current_id}
            if now["owner"] is None and then["owner"] not in there:  # the account was deleted
                now["owner"] = then["owner"]
            draft.facts |= {
                name: {"after its last change": then[name], "now": now[name]} for name in now if now[name] != then[name]
            }

    def _versions_beyond(self, changes: Sequence[Any]) -> Iterator[EntryDraft]:
        known = [change.version_id for change in changes if change.version_id]
        for version in self.model.versions.rel.related_model.objects.exclude(pk__in=known):
            yield EntryDraft(self.change.entry, "", {"step": f"“{version.name}”, version {version.number}"})


def _draft(change: Any) -> EntryDraft:
    """Build the entry of a change, including differences of its version in owner preset and name."""
    draft, version = change.draft(), change.version
    if version and (whose := getattr(version, change.whose)) != change.saved_id:
        draft.facts["version"] = {"number": version.number, f"of {change.entry}": whose}
    if version and version.name != change.name:
        draft.facts["name"] = {"of the change": change.name, "of the version": version.name}
    return draft
