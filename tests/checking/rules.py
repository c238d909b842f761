from enum import StrEnum


class CheckFinding(StrEnum):
    SOUND = "sound"
    DOUBTFUL = "doubtful"


class CheckingOutcome(StrEnum):
    SOUND = "sound"
    APPROVED = "approved"
    WITHDRAWN = "withdrawn"


def passes(finding: CheckFinding) -> bool:
    return finding == CheckFinding.SOUND
