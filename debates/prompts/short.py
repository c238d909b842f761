"""How much less than usual a request shows of what was said, for a model that has no room for it."""

from typing import NamedTuple


class Short(NamedTuple):
    """Messages before `begins` stand as lines, but a few; those up to `gone` not at all. What the chair said stays."""

    begins: int = 0
    gone: int = 0

    @property
    def sentence(self) -> str:
        """As it is told to the model and kept in the record; empty where nothing is shortened."""
        if not self.begins:
            return ""
        gone = f"messages up to {self.gone} are left out, but the chair's" if self.gone else ""
        lines = f"those up to {self.begins - 1} stand as lines" if self.begins - 1 > self.gone else ""
        lines = lines if gone else lines.replace("those", "messages")
        return f"This model has no room for all of it: {', and '.join(filter(None, [gone, lines]))}."


WHOLE = Short()
