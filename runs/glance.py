from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Glance:
    """What a list shows of a run beside what any has: by which saved set it was made, whether it was rehearsed; more
    of a kind's own. `signs` of outcomes that are the run's own words; `notes`: a few words each about the outcome."""

    saved: str = ""
    rehearsal: bool = False
    signs: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
