from enum import StrEnum


class Finding(StrEnum):
    SOUND = "sound"
    DOUBTFUL = "doubtful"


def outcome(finding: Finding) -> str:
    return str(finding)
