"""Retention of the texts of runs that were started from presets: set by the preset or by the installation.

Why so: runs/DESIGN.md, Rehearsal, redaction, retention.
"""

from collections import defaultdict
from datetime import datetime

from django.conf import settings
from django.db.models import Q

from .. import retention
from ..models.presets import Preset, PresetChange
from ..retention import INSTALLATION, KeptFor


def preset_retention(model: type[Preset], version: str) -> KeptFor:
    """Return filters of runs by days and source; `version` is the lookup from a run to its preset version."""
    change = model.changes.rel.related_model
    whose = f"{version}__{change.whose}__in"
    found: dict[tuple[int, str], Q] = defaultdict(Q)
    for days, those in _by_days(change).items():
        for (since, until), pks in those.items():
            submitted = Q(**{whose: pks})
            if since:
                submitted &= Q(created__gte=since)
            if until:
                submitted &= Q(created__lt=until)
            kept = retention.minimum_days(days, settings.RETENTION_FLOOR_DAYS)
            found[kept, f"its {model._meta.model_name}" if kept == days else INSTALLATION] |= submitted
    if settings.RETENTION_DAYS:
        found[settings.RETENTION_DAYS, INSTALLATION] |= Q(**{version: None})
    return dict(sorted(found.items()))


def _by_days(change: type[PresetChange]) -> dict[int, dict[tuple[datetime | None, datetime | None], list[int]]]:
    """Return, by days of retention: time span of submission -> keys of presets."""
    said: dict[int, list[tuple[datetime, int]]] = defaultdict(list)
    for saved, made, days in change.objects.values_list(change.whose, "made", "retention_days"):
        said[saved].append((made, days))
    found: dict[int, dict[tuple[datetime | None, datetime | None], list[int]]] = defaultdict(lambda: defaultdict(list))
    for saved, changes in said.items():
        for since, until, days in retention.retention_spans(changes):
            if days:
                found[days][since, until].append(saved)
    return found
