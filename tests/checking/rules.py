from enum import StrEnum


class Finding(StrEnum):
    SOUND = "sound"
    DOUBTFUL = "doubtful"


class Outcome(StrEnum):
    SOUND = "sound"
    APPROVED = "approved"
    WITHDRAWN = "withdrawn"


def passes(finding: Finding) -> bool:
    return finding == Finding.SOUND
