from .files import FileShown, differences, files_changed
from .plate import OUTCOMES
from .terminals import grown, terminal_state
from .whole import Display, display_of

__all__ = ["OUTCOMES", "Display", "FileShown", "differences", "display_of", "files_changed", "grown", "terminal_state"]
