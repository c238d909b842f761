from .versions import (
    NAME_LENGTH,
    RETENTION_DAYS,
    ChangeKind,
    OutOfDate,
    RevisedMeanwhile,
    Saved,
    SavedChange,
    SavedQuerySet,
    SavedVersion,
)

__all__ = [
    "NAME_LENGTH",
    "RETENTION_DAYS",
    "ChangeKind",
    "OutOfDate",
    "RevisedMeanwhile",
    "Saved",
    "SavedChange",
    "SavedQuerySet",
    "SavedVersion",
]
