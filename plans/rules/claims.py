"""What steps claim and no tool call shows: by counting calls, whatever the texts say."""

from collections import Counter
from collections.abc import Iterable, Sequence

from .enums import StepEffect, StepOwner, StepStatus
from .scheduling import StepSituation

_NOT_USED = {StepEffect.WRITES: "no tool that writes was used", StepEffect.REACHES_OUT: "no tool that sends was used"}


def claim_note(step: StepSituation) -> str:
    """What stands beside a completed step that no call shows; empty for all others."""
    if not step.claims:
        return ""
    return f"Claimed: {_NOT_USED[step.effect] if step.used else 'no tool was used'}."


def noted(note: str, text: str) -> str:
    """What its owner said, where there is room for one text alone."""
    return f"{note} {text}".strip()


def figures(steps: Iterable[StepSituation], done: Sequence[tuple[str, StepEffect]]) -> str:
    """What to hold a summary against. `done`: name and effect of each tool call of the plan that was done."""
    acting = [one for one in steps if one.status is StepStatus.COMPLETED and one.owner is not StepOwner.PERSON]
    acting = [one for one in acting if one.effect is not StepEffect.READS]
    used = sum(not one.claims for one in acting)
    of_steps = [f"{used} of {len(acting)} completed steps that write or send used a tool for it."] if acting else []
    acts = [(tool, effect) for tool, effect in done if effect is not StepEffect.READS]
    if not acts:
        return " ".join([*of_steps, "No tool changed or sent anything."])
    counted = ", ".join(f"{tool} ({count})" for tool, count in Counter(tool for tool, _ in acts).items())
    sent = any(effect is StepEffect.REACHES_OUT for _, effect in acts)
    return " ".join(
        [*of_steps, f"Tools that changed or sent something: {counted}.", *([] if sent else ["Nothing was sent."])]
    )
