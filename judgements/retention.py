"""For how long the texts of judgements are kept: their councils say so, or the installation.

Why so: docs/decisions.md, Rehearsal, redaction, retention.
"""

from collections import defaultdict
from datetime import datetime

from django.conf import settings
from django.db.models import Q

from runs import retention
from runs.retention import INSTALLATION, KeptFor

from .models import CouncilChange


def kept_for() -> KeptFor:
    found: dict[tuple[int, str], Q] = defaultdict(Q)
    for days, councils in _by_days().items():
        for (since, until), pks in councils.items():
            submitted = Q(judgement__council_version__council__in=pks)
            if since:
                submitted &= Q(created__gte=since)
            if until:
                submitted &= Q(created__lt=until)
            kept = retention.at_least(days, settings.RETENTION_FLOOR_DAYS)
            found[kept, "its council" if kept == days else INSTALLATION] |= submitted
    if settings.RETENTION_DAYS:
        found[settings.RETENTION_DAYS, INSTALLATION] |= Q(judgement__council_version=None)
    return dict(sorted(found.items()))


def _by_days() -> dict[int, dict[tuple[datetime | None, datetime | None], list[int]]]:
    """Days -> submitted from when to when -> judged by which councils."""
    said: dict[int, list[tuple[datetime, int]]] = defaultdict(list)
    for council, made, days in CouncilChange.objects.values_list("council", "made", "retention_days"):
        said[council].append((made, days))
    found: dict[int, dict[tuple[datetime | None, datetime | None], list[int]]] = defaultdict(lambda: defaultdict(list))
    for council, changes in said.items():
        for since, until, days in retention.spans(changes):
            if days:
                found[days][since, until].append(council)
    return found
