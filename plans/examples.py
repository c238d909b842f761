"""Three examples to try: a task, and the ready-made team for it.

Each names every argument that its tools need. So a rehearsal, too, changes something in the example office, and new
users can see it there.
"""

from dataclasses import dataclass
from datetime import date, timedelta

from django.utils import timezone

DAYS_AHEAD = timedelta(days=14)


@dataclass(frozen=True)
class PlanExample:
    """`key` is the URL parameter, `title` the label. `words` is the task; `{day}` in it becomes a coming Monday."""

    key: str
    title: str
    team: str
    words: str

    @property
    def task(self) -> str:
        return self.words.format(day=_monday_after(timezone.now().date() + DAYS_AHEAD))


def _monday_after(day: date) -> date:
    return day + timedelta(days=7 - day.weekday())


EXAMPLES = (
    PlanExample(
        "onboard",
        "Onboard a new colleague",
        "People",
        "Add the person “Jessica Smith” to the people: jessica.smith@office.example, account manager in Sales.\n"
        "Put an entry “Welcome in Sales” with “Jessica Smith” into the calendar, on {day} from 9 to 10.\n"
        "Add the task “Order a laptop for Jessica Smith”.\n"
        "Add the task “Prepare the contract of Jessica Smith”.\n"
        "Draft a letter “Welcome, Jessica” to jessica.smith@office.example.",
    ),
    PlanExample(
        "move",
        "Set a review, and tell who comes",
        "Office",
        "Put an entry “Launch review” with “Priya Raman” into the calendar, on {day} from 9 to 10.\n"
        "Draft a letter “Launch review on {day}, from 9 to 10” to priya@office.example.",
    ),
    PlanExample(
        "monitors",
        "Order 40 monitors below 9,000",
        "Procurement",
        "Find the “Monitor 27” in stock, with its number and price.\n"
        "Find requests to buy a “Monitor 27”.\n"
        "Request the purchase of these things: 40 of “Monitor 27”, if that is below 9,000 in all.",
    ),
)


def example_by_key(key: str) -> PlanExample | None:
    return next((example for example in EXAMPLES if example.key == key), None)
