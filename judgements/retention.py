"""For how long the texts of judgements are kept: their councils say so, or the installation."""

from runs.retention import KeptFor
from runs.saved.retention import kept_for as kept_for_by

from .models import Council


def kept_for() -> KeptFor:
    return kept_for_by(Council, "judgement__council_version")
