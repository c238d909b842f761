from .versions import (
    NAME_LENGTH,
    RETENTION_DAYS,
    ChangeKind,
    NameReserved,
    OutOfDate,
    RevisedMeanwhile,
    Saved,
    SavedChange,
    SavedQuerySet,
    SavedVersion,
    VersionInColumns,
)

__all__ = [
    "NAME_LENGTH",
    "RETENTION_DAYS",
    "ChangeKind",
    "NameReserved",
    "OutOfDate",
    "RevisedMeanwhile",
    "Saved",
    "SavedChange",
    "SavedQuerySet",
    "SavedVersion",
    "VersionInColumns",
]
