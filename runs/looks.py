"""What makes runs worth a look before others."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    """Something that makes runs worth a look before others: what reviewers call it and what it means, as it stands
    behind the name. `sign` is a state or the name of a small picture."""

    flag: str
    name: str
    note: str
    sign: str

    @property
    def sentence(self) -> str:
        return f"{self.note[0].upper()}{self.note[1:]}."
