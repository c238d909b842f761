"""Three examples to try: a task, and the ready-made team for it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """`key` stands in addresses, `title` is what it is called where it is offered."""

    key: str
    title: str
    team: str
    task: str


EXAMPLES = (
    Example(
        "onboard",
        "Onboard a new colleague",
        "People",
        "Onboard Jessica Smith, who starts on 1 December as account manager in Sales.\n"
        "Enter her with her role and her unit.\n"
        "Find an hour in her first week for a welcome, and enter it into the calendar.\n"
        "Add the tasks to order a laptop and to prepare her contract.\n"
        "Draft a welcome letter to her.",
    ),
    Example(
        "move",
        "Move Friday’s review by a week",
        "Office",
        "Move Friday’s launch review by a week, to the same hour.\n"
        "Name what it clashes with there.\n"
        "Draft a notice to everybody who was to come.",
    ),
    Example(
        "monitors",
        "Order 40 monitors below 9,000",
        "Procurement",
        "Find out how many monitors are in stock, and which requests for monitors are open.\n"
        "Work out what 40 of them cost.\n"
        "Ask for the purchase of 40 monitors if that is below 9,000 in all.",
    ),
)


def example_called(key: str) -> Example | None:
    return next((example for example in EXAMPLES if example.key == key), None)
