from .files import ChangedFileView, changed_files, file_diffs
from .page import MissionDisplay, display_of
from .status import OUTCOMES
from .terminals import new_output, terminal_state

__all__ = [
    "OUTCOMES",
    "ChangedFileView",
    "MissionDisplay",
    "changed_files",
    "display_of",
    "file_diffs",
    "new_output",
    "terminal_state",
]
