"""Suggestions for team policies: the same kind of change was approved repeatedly and never rejected.

A suggestion is shown to the approver and to people who may change the team; a person saves the new version. There is
none for external actions, for approvals by more than one person, or where a rule of the installation needs the
approval.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.urls import reverse

from engine.models import Gate, GateRule, Run
from engine.models.gate_rules import strictest_rule
from engine.models.gates import GateQuerySet, GateState
from runs.approvals.stats import MAX_RECENT_GATES, MIN_APPROVALS
from runs.formatting import user_label
from runs.procedure.gate_page import PolicySuggestion

from .models import Plan, Team
from .rules.approval_policy import ApprovalKind, TeamPolicy, changes_pass_with_steps, may_pass_with_steps
from .rules.enums import StepEffect

SUGGESTION_TEXT = (
    "What it changes here could pass with its step, which is still asked about. "
    "That is a new version of the team; nothing changes by itself."
)
APPROVALS_TEXT = (
    "{who} approved {times} of {times} uses of {tool} by the team “{team}” in 30 days, each as it was asked."
)


class GateShape(NamedTuple):
    """What two calls have in common: the tool, the names of its arguments, and the hosts of email addresses in
    them."""

    tool: str
    arguments: tuple[str, ...]
    hosts: tuple[str, ...]


def gate_shape(gate: Gate) -> GateShape | None:
    """Return the shape of the call in a gate's text; None if the text was erased."""
    begin = gate.text.find("\n{")
    if begin < 0:
        return None
    arguments, _ = json.JSONDecoder().raw_decode(gate.text, begin + 1)
    words = [one for value in arguments.values() for one in (value if isinstance(value, list) else [value])]
    hosts = {one.rpartition("@")[2] for one in words if isinstance(one, str) and "@" in one and " " not in one}
    return GateShape(gate.tool, tuple(sorted(arguments)), tuple(sorted(hosts)))


def policy_suggestion(gates: Iterable[Gate], user: Any, since: datetime) -> Iterator[PolicySuggestion]:
    """Yield suggestions from the gates that this user has approved."""
    by_team: dict[int, list[Gate]] = defaultdict(list)
    asked = [gate for gate in gates if (gate.kind, gate.effect) == (ApprovalKind.TOOL, StepEffect.WRITES)]
    teams = dict(Plan.objects.filter(pk__in={one.run_id for one in asked}).values_list("pk", "team_version__team"))
    for gate in asked:
        by_team[teams[gate.run_id]].append(gate)
    for team in Team.objects.available().with_content().filter(pk__in=by_team):
        if often := _most_frequent_approval(team, by_team[team.pk], since):
            yield _suggestion(team, *often, "You", user)


def suggestions_for_team(team: Team, user: Any, since: datetime) -> PolicySuggestion | None:
    """Return a suggestion from everybody's approvals; None if the user may not change the team."""
    if team.archived or not team.is_editable_by(user):
        return None
    approved = _changes_of(team, since).filter(state=GateState.APPROVED).order_by("-pk")
    often = _most_frequent_approval(team, approved[:MAX_RECENT_GATES], since)
    return _suggestion(team, *often, "People", user) if often else None


def _most_frequent_approval(team: Team, gates: Iterable[Gate], since: datetime) -> tuple[str, int] | None:
    """Return the tool that was approved most often in one shape, and how often; None if the policy cannot be
    eased."""
    if not (team.current and may_pass_with_steps(TeamPolicy.of(team.current.policy))):
        return None
    found = Counter(shape for gate in gates if (shape := gate_shape(gate)))
    for shape, times in found.most_common(1):
        if times >= MIN_APPROVALS and not _is_ruled(shape.tool) and not _not_approved(team, since).exists():
            return shape.tool, times
    return None


def _is_ruled(tool: str) -> bool:
    """Tell whether a rule of the installation needs approval anyway."""
    return (
        strictest_rule(GateRule.objects.of("plan"), kind="tool", effect=str(StepEffect.WRITES), tool=tool) is not None
    )


def _changes_of(team: Team, since: datetime) -> GateQuerySet:
    changes = {"kind": ApprovalKind.TOOL, "effect": StepEffect.WRITES, "made__gte": since}
    return Gate.objects.filter(run__plan__team_version__team=team, **changes)


def _not_approved(team: Team, since: datetime) -> GateQuerySet:
    """Return gates that were not approved, including those of calls that changed; not those of cancelled plans."""
    refused = _changes_of(team, since).exclude(state__in=(GateState.APPROVED, GateState.PENDING))
    return refused.exclude(state=GateState.VOID, run__status=Run.Status.CANCELLED)


def _suggestion(team: Team, tool: str, times: int, who: str, user: Any) -> PolicySuggestion:
    text = APPROVALS_TEXT.format(who=who, times=times, tool=tool, team=team.name)
    if team.is_editable_by(user):
        return PolicySuggestion(
            text, SUGGESTION_TEXT, f"{reverse('team-edit', args=[team.pk])}?ease={StepEffect.WRITES}#asked"
        )
    whose = user_label(team.owner.get_username()) if team.owner else "whoever may change teams here"
    return PolicySuggestion(text, SUGGESTION_TEXT, reverse("team", args=[team.pk]), whose)


def suggested_policy(policy: dict[str, Any]) -> dict[str, Any]:
    return changes_pass_with_steps(TeamPolicy.of(policy)).as_json()
