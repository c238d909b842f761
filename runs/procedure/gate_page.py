"""What a procedure brings to the page of its gates, all of it with a usual answer."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from django.http import QueryDict

from engine.models import Gate
from engine.models.gates import DecisionValue, title_that_fits


@dataclass(frozen=True)
class PolicySuggestion:
    """`said`: what was approved how often; `could`: what could be asked less often, at this address, where nothing
    changes before somebody saves it. `whose`: who may, where this person may not."""

    said: str
    could: str
    address: str
    whose: str = ""


DEFAULT_LABELS: Mapping[str, str] = {
    DecisionValue.APPROVE: "Approve",
    DecisionValue.REJECT: "Reject",
    DecisionValue.ANSWER: "Answer",
    DecisionValue.OVERRIDE: "Override the council",
}


def asked_by(who: str, gate: Gate) -> str:
    """A heading that asks what the gate asks; none once that is erased."""
    return title_that_fits(f"{who}: {' '.join(gate.text.split())}") if gate.text else ""


class GatePage:
    """The half of a face that pages of gates know.

    A gate whose answer has a form of its own names a template for it, which stands in the form of the page, above the
    buttons: it shows `gate`, what `gate_context` gives, and by `errors`, sentences by their paths, what could not be
    taken. What was typed is read by `gate_answer` into what any other door sends as the answer, and
    `Procedure.answered` takes or refuses that for all doors.
    """

    decider_part: ClassVar[str] = ""  # the template of what a run of this kind shows at a gate that it decides

    def button_labels(self, gate: Gate) -> Mapping[str, str]:
        """What its button says for each decision that can be made there without a word of the procedure's own. On
        pages no other one is offered."""
        return DEFAULT_LABELS

    def refused_at(self, gate: Gate) -> Collection[tuple[str, str]]:
        """Decisions with their words that would be refused as the run stands now: nobody is offered them."""
        return ()

    def is_text_repeated(self, gate: Gate) -> bool:
        """Whether its text is folded on the live page, for what stands there above it says the same."""
        return False

    def policy_suggestion(self, gates: Sequence[Gate], user: Any, since: datetime) -> Iterable[PolicySuggestion]:
        """What could be asked less often, of gates about tools that this person has approved since then."""
        return ()

    def changes_nothing(self, gate: Gate) -> bool:
        """Whether a yes does nothing but let work of the run itself pass."""
        return False

    def context_url(self, gates: Sequence[Gate]) -> None:
        """Read at once, before a list of them is shown, what would be read of each."""

    def sort_priority(self, gate: Gate) -> bool:
        """Whether it settles others of its run, and so stands before them."""
        return False

    def heading(self, gate: Gate) -> str:
        """What would happen, or what is asked, above it and in lists. Its title is what leaves the house by mail."""
        return gate.title

    def earlier(self, gate: Gate, user: Any) -> str:
        """What this person is told, above the buttons, of an earlier decision about the same; empty where none is."""
        return ""

    def gate_template(self, gate: Gate) -> str:
        """The template of its own form; empty for a field for words alone."""
        return ""

    def gate_context(self, gate: Gate, typed: Mapping[str, Any]) -> dict[str, Any]:
        """What that template needs besides. `typed`: what was sent and could not be taken. `beside` in it: a template
        for below the text, on the page of the gate alone."""
        return {}

    def gate_answer(self, gate: Gate, typed: QueryDict) -> Any:
        """What was typed into that form, as the answer that the API would take; None where it was left empty."""
        return None
