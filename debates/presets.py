"""Describes the differences between two versions of a panel."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from runs.procedure.library_section import PresetSection

from .models import Panel

PanelContentDict = Mapping[str, Any]
"""A panel's name and the content of one version, as `PanelVersion.held` returns it."""

CHANGE_TEXT = {
    "rule": "What decides",
    "view": "How members see it",
    "most": "The most messages",
    "reply_within": "The hours that a person has",
    "timekeeper": "The timekeeper's model",
    "first": "Asking each alone first",
    "reply": "Who is asked answers next",
    "call": "Calling silent members",
    "challenge": "Hearing the case against what all believe",
    "free_floor": "Drawing the last speaker again",
    "advisory": "An outcome that advises",
}


def describe_changes(before: tuple[str, PanelContentDict], after: tuple[str, PanelContentDict]) -> list[str]:
    """Return one sentence for each change."""
    (old_name, old), (new_name, new) = before, after
    renamed = [f"The panel was renamed from {old_name} to {new_name}."] if old_name != new_name else []
    return [*renamed, *_options(old["options"], new["options"]), *_members(old, new), *_rules(old, new)]


def _options(old: Sequence[PanelContentDict], new: Sequence[PanelContentDict]) -> Iterator[str]:
    was, now = ({one["word"]: one for one in some} for some in (old, new))
    yield from (f"Option {word} is new." for word in now if word not in was)
    yield from (f"Option {word} is gone." for word in was if word not in now)
    both = [word for word in now if word in was]
    yield from (f"What {word} means changed." for word in both if was[word]["meaning"] != now[word]["meaning"])
    yield from (
        f"The direction of {word} changed." for word in both if was[word]["direction"] != now[word]["direction"]
    )
    if both != [word for word in was if word in now]:
        yield "The options are in another order."


def _members(before: PanelContentDict, after: PanelContentDict) -> Iterator[str]:
    was, now = ({one["name"]: one for one in some["members"]} for some in (before, after))
    yield from (f"{name} is new." for name in now if name not in was)
    yield from (f"{name} sits there no more." for name in was if name not in now)
    both = [name for name in now if name in was]
    for name in both:
        yield from _changes_of(name, was[name], now[name])
    if both != [name for name in was if name in now]:
        yield "The members sit in another order."


def _changes_of(name: str, was: PanelContentDict, now: PanelContentDict) -> Iterator[str]:
    if was["who"] != now["who"]:
        yield f"Who {name} is was rewritten."
    if was["person"] != now["person"]:
        yield f"{name} is a person now." if now["person"] else f"{name} is a model now."
    elif was["model"] != now["model"]:
        yield f"{name} asks {_model(now['model'])} instead of {_model(was['model'])}."
    if was["fallback"] != now["fallback"]:
        yield f"{name} has {now['fallback'] or 'no fallback'} instead of {was['fallback'] or 'none'}."


def _rules(old: PanelContentDict, new: PanelContentDict) -> Iterator[str]:
    was, now = {**old, **old["switches"]}, {**new, **new["switches"]}
    for name, said in CHANGE_TEXT.items():
        if was[name] != now[name]:
            yield f"{said}: {_value(now[name])} instead of {_value(was[name])}."


def _model(name: str) -> str:
    return name or "the default model"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value).replace("_", " ") if value not in (None, "") else "none"


class PanelSection(PresetSection):
    name, noun, about, label = "panels", "panel", "members, options and rules of debates", "panel"
    purpose = (
        "Save members, options and rules that you want to debate by more than once, and every debate can start there."
    )
    permission = "debates.add_panel"
    saved, begins = Panel, "debate-new"

    def describe(self, one: Panel) -> tuple[list[str], list[str]]:
        seats = list(one.current.seats.all()) if one.current else []
        options = list(one.current.options.all()) if one.current else []
        texts = [*(text for seat in seats for text in (seat.name, seat.who)), *(option.word for option in options)]
        return [seat.name for seat in seats], texts
