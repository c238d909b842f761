"""Ways into the history that need no filling in: what is often asked for, what somebody saved, and what an empty list
would show without one of its filters."""

from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from ..filters import ONESELF, PERIOD_NAMES
from ..history import MOST_COUNTED
from ..models import SavedView
from ..rights import SEE, Reach
from .asked import Asked

PRESETS: dict[str, dict[str, Any]] = {
    "All": {},
    "Today": {"days": "today"},
    "Last week": {"days": "week"},
    "Mine": {"by": ONESELF},
    "Waits for me": {"waits": ONESELF},
    "Failed": {"outcome": "error"},
    "Mine that failed": {"by": ONESELF, "outcome": "error"},
}
MOST_TRIED = 5


@dataclass(frozen=True)
class QuickView:
    name: str
    address: str
    count: str = ""
    current: bool = False
    pk: int = 0  # of a saved one


def presets(asked: Asked) -> list[QuickView]:
    """Of the kinds that are asked for. Who sees one's own alone needs no way to them."""
    all_of_them = SEE.reach(asked.user) == Reach.ALL
    return [_preset(asked, name, sought) for name, sought in PRESETS.items() if all_of_them or "by" not in sought]


def _preset(asked: Asked, name: str, sought: dict[str, Any]) -> QuickView:
    count = shown(asked.of(sought).count()) if sought else ""
    return QuickView(name, asked.only(sought), count, current=asked.form.sought == sought)


def saved(asked: Asked) -> list[QuickView]:
    """Those that this person keeps."""
    history, now = reverse("runs-history"), asked.whole_query
    return [
        QuickView(view.name, f"{history}?{view.query}", current=view.query == now, pk=view.pk)
        for view in SavedView.objects.filter(user=asked.user)
    ]


def shown(count: int) -> str:
    return f"{MOST_COUNTED:,}+" if count > MOST_COUNTED else f"{count:,}"


@dataclass(frozen=True)
class Loosened:
    """What a list that is empty would show without one of its filters."""

    without: str
    are: str
    shown: str
    address: str


NAMES = {"q": "the words", "outcome": "the outcome", "by": "who asked", "waits": "“waits for me”"}
DAYS = ("days", "since", "until")


def loosened(asked: Asked) -> Loosened | None:
    """By the filter without which most would be left; none where each of them alone leaves nothing still."""
    sought = asked.filtered
    tried = [*(name for name in sought if name not in DAYS), *(["days"] if sought.keys() & set(DAYS) else [])]
    left = [(_count_without(asked, name), name) for name in tried[:MOST_TRIED]]
    count, name = max(left, default=(0, ""), key=lambda one: one[0])
    if not count:
        return None
    without = dict.fromkeys(_together(name))
    are, them = ("is one", "it") if count == 1 else (f"are {shown(count)}", f"these {shown(count)}")
    return Loosened(NAMES.get(name, f"the {name}"), are, them, asked.address_of(asked.query(**without)))


def _count_without(asked: Asked, name: str) -> int:
    return asked.of(
        {other: value for other, value in asked.form.sought.items() if other not in _together(name)}
    ).count()


def _together(name: str) -> tuple[str, ...]:
    return DAYS if name == "days" else (name,)


def said_days(sought: dict[str, Any]) -> str:
    """The days that are asked for, in few words."""
    if period := sought.get("days"):
        return PERIOD_NAMES[period]
    since, until = (sought.get(name) and f"{sought[name]:%-d %b %Y}" for name in ("since", "until"))
    if since and until:
        return since if since == until else f"{since} to {until}"
    return f"From {since}" if since else f"To {until}" if until else "All days"
