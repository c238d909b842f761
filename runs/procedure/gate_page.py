"""Hooks for the page of a gate; every hook has a default."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from django.http import QueryDict

from engine.models import Gate
from engine.models.gates import DecisionValue, title_that_fits


@dataclass(frozen=True)
class PolicySuggestion:
    """A suggestion to loosen an approval policy.

    `said` states what was approved and how often. `could` states the possible change; nothing changes before somebody
    saves the form at `address`. `whose` names who may save it, if this user may not.
    """

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
    """Build a heading from the text of a gate; empty once the text is redacted."""
    return title_that_fits(f"{who}: {' '.join(gate.text.split())}") if gate.text else ""


class GatePage:
    """The part of a `ProcedureSpec` that the pages of gates use.

    A gate whose answer needs its own form names a template. It is included in the page's form, above the buttons, with
    `gate`, the result of `gate_context`, and `errors` (messages by path). `gate_answer` turns the submitted form into
    the answer that the API would take, and `Procedure.answered` validates it for every interface.
    """

    decider_part: ClassVar[str] = ""  # template that a run of this procedure shows at a gate that it decides

    def button_labels(self, gate: Gate) -> Mapping[str, str]:
        """Return the button label of each decision that needs no choice of the procedure.

        The page offers no other decisions.
        """
        return DEFAULT_LABELS

    def refused_at(self, gate: Gate) -> Collection[tuple[str, str]]:
        """Return pairs of decision and choice that would be refused now, so that the page does not offer them."""
        return ()

    def is_text_repeated(self, gate: Gate) -> bool:
        """Return whether the live page collapses the gate's text because the text above repeats it."""
        return False

    def policy_suggestion(self, gates: Sequence[Gate], user: Any, since: datetime) -> Iterable[PolicySuggestion]:
        """Suggest looser policies for tools whose gates this user has approved since then."""
        return ()

    def changes_nothing(self, gate: Gate) -> bool:
        """Return whether approving only lets the run's own work continue."""
        return False

    def context_url(self, gates: Sequence[Gate]) -> None:
        """Preload what the pages of these gates read, so that a list needs no query per gate."""

    def sort_priority(self, gate: Gate) -> bool:
        """Return whether deciding it settles other gates of its run, so that it is listed first."""
        return False

    def heading(self, gate: Gate) -> str:
        """Return what would happen or what is asked, for pages and lists. Emails use the gate's title instead."""
        return gate.title

    def earlier(self, gate: Gate, user: Any) -> str:
        """Return a notice about an earlier decision on the same subject, shown above the buttons; empty if there is
        none.
        """
        return ""

    def gate_template(self, gate: Gate) -> str:
        """Return the template of the gate's own form; empty for a plain text field."""
        return ""

    def gate_context(self, gate: Gate, typed: Mapping[str, Any]) -> dict[str, Any]:
        """Return the additional context of that template.

        `typed` is a submission that was refused. The key `beside` names a template that is shown below the text on the
        gate's own page only.
        """
        return {}

    def gate_answer(self, gate: Gate, typed: QueryDict) -> Any:
        """Convert the submitted form to the answer that the API takes; None if it was left empty."""
        return None
