"""Completed steps that no tool call shows (claimed). Calls are counted; texts are not interpreted."""

from collections import Counter
from collections.abc import Iterable, Sequence

from .enums import StepEffect, StepOwner, StepStatus
from .scheduling import StepSituation

_NOT_USED = {StepEffect.WRITES: "no tool that writes was used", StepEffect.REACHES_OUT: "no tool that sends was used"}


def claim_note(step: StepSituation) -> str:
    """Return the note of a step that is only claimed; empty for all others."""
    if not step.claims:
        return ""
    return f"Claimed: {_NOT_USED[step.effect] if step.used else 'no tool was used'}."


def noted(note: str, text: str) -> str:
    """Return note and text as one."""
    return f"{note} {text}".strip()


def figures(steps: Iterable[StepSituation], done: Sequence[tuple[str, StepEffect]]) -> str:
    """Return sentences to check a summary with. `done`: name and effect of each successful tool call of the plan."""
    acting = [one for one in steps if one.status is StepStatus.COMPLETED and one.owner is not StepOwner.PERSON]
    acting = [one for one in acting if one.effect is not StepEffect.READS]
    used = sum(not one.claims for one in acting)
    of_steps = [f"{used} of {len(acting)} completed steps that write or send used a tool for it."] if acting else []
    calls = [(tool, effect) for tool, effect in done if effect is not StepEffect.READS]
    if not calls:
        return " ".join([*of_steps, "No tool changed or sent anything."])
    counted = ", ".join(f"{tool} ({count})" for tool, count in Counter(tool for tool, _ in calls).items())
    sent = any(effect is StepEffect.REACHES_OUT for _, effect in calls)
    return " ".join(
        [*of_steps, f"Tools that changed or sent something: {counted}.", *([] if sent else ["Nothing was sent."])]
    )
