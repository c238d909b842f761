"""Shortening of the history for a model with too little room."""

from typing import NamedTuple


class Short(NamedTuple):
    """Messages before `begins` become lines, except a few; those up to `gone` are left out. Messages of the chair
    stay."""

    begins: int = 0
    gone: int = 0

    @property
    def sentence(self) -> str:
        """The sentence for the model and the record; empty if nothing is shortened."""
        if not self.begins:
            return ""
        gone = f"messages up to {self.gone} are left out, but the chair's" if self.gone else ""
        lines = f"those up to {self.begins - 1} stand as lines" if self.begins - 1 > self.gone else ""
        lines = lines if gone else lines.replace("those", "messages")
        return f"This model has no room for all of it: {', and '.join(filter(None, [gone, lines]))}."


WHOLE = Short()
