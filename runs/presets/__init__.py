from ..models.presets import (
    NAME_LENGTH,
    RETENTION_DAYS,
    NameReserved,
    Preset,
    PresetChange,
    PresetChanged,
    PresetChangeKind,
    PresetOutOfDate,
    PresetQuerySet,
    PresetVersion,
    PresetVersionInColumns,
)

__all__ = [
    "NAME_LENGTH",
    "RETENTION_DAYS",
    "NameReserved",
    "Preset",
    "PresetChange",
    "PresetChangeKind",
    "PresetChanged",
    "PresetOutOfDate",
    "PresetQuerySet",
    "PresetVersion",
    "PresetVersionInColumns",
]
