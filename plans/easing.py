"""What a team could ask less often: where the same kind of change was approved again and again, and never refused.

It is only said, to whoever approves and to whoever may change the team; a new version of it is saved by a person. Never
said of what leaves the house, of what asks more than one person, or where something else than the team's policy asks.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django.urls import reverse

from engine.models import Gate, GateRule, Run
from engine.models.gate_rules import best_of
from engine.models.gates import GateQuerySet, GateState
from runs.at_gates import Eased
from runs.too_often import LEAST, MOST
from runs.words import shown_name

from .models import Plan, Team
from .rules.demands import Kind, Policy, changes_pass_with_steps, may_pass_with_steps
from .rules.words import Effect

COULD = (
    "What it changes here could pass with its step, which is still asked about. "
    "That is a new version of the team; nothing changes by itself."
)
SAID = "{who} approved {times} of {times} uses of {tool} by the team “{team}” in 30 days, each as it was asked."


class Shape(NamedTuple):
    """What makes two calls alike: the tool, which arguments it was given, and to which hosts' people they go."""

    tool: str
    arguments: tuple[str, ...]
    hosts: tuple[str, ...]


def shape_of(gate: Gate) -> Shape | None:
    """By the gate's own text; None of one that was erased."""
    begin = gate.text.find("\n{")
    if begin < 0:
        return None
    arguments, _ = json.JSONDecoder().raw_decode(gate.text, begin + 1)
    words = [one for value in arguments.values() for one in (value if isinstance(value, list) else [value])]
    hosts = {one.rpartition("@")[2] for one in words if isinstance(one, str) and "@" in one and " " not in one}
    return Shape(gate.tool, tuple(sorted(arguments)), tuple(sorted(hosts)))


def eased(gates: Iterable[Gate], user: Any, since: datetime) -> Iterator[Eased]:
    """Of what this person has approved."""
    by_team: dict[int, list[Gate]] = defaultdict(list)
    asked = [gate for gate in gates if (gate.kind, gate.effect) == (Kind.TOOL, Effect.WRITES)]
    teams = dict(Plan.objects.filter(pk__in={one.run_id for one in asked}).values_list("pk", "team_version__team"))
    for gate in asked:
        by_team[teams[gate.run_id]].append(gate)
    for team in Team.objects.offered().whole().filter(pk__in=by_team):
        if often := _often(team, by_team[team.pk], since):
            yield _said(team, *often, "You", user)


def of_team(team: Team, user: Any, since: datetime) -> Eased | None:
    """Of what was approved by anybody, for whoever may change the team."""
    if team.archived or not team.is_editable_by(user):
        return None
    approved = _changes_of(team, since).filter(state=GateState.APPROVED).order_by("-pk")
    often = _often(team, approved[:MOST], since)
    return _said(team, *often, "People", user) if often else None


def _often(team: Team, gates: Iterable[Gate], since: datetime) -> tuple[str, int] | None:
    """The tool that was allowed most often in one way, and how often, where the team could let it pass."""
    if not (team.current and may_pass_with_steps(Policy.of(team.current.policy))):
        return None
    found = Counter(shape for gate in gates if (shape := shape_of(gate)))
    for shape, times in found.most_common(1):
        if times >= LEAST and not _is_ruled(shape.tool) and not _refused(team, since).exists():
            return shape.tool, times
    return None


def _is_ruled(tool: str) -> bool:
    """Whether a rule of the installation asks anyway."""
    return best_of(GateRule.objects.of("plan"), kind="tool", effect=str(Effect.WRITES), tool=tool) is not None


def _changes_of(team: Team, since: datetime) -> GateQuerySet:
    changes = {"kind": Kind.TOOL, "effect": Effect.WRITES, "made__gte": since}
    return Gate.objects.filter(run__plan__team_version__team=team, **changes)


def _refused(team: Team, since: datetime) -> GateQuerySet:
    """Also what was changed before it was done; not what went with a plan that was cancelled."""
    refused = _changes_of(team, since).exclude(state__in=(GateState.APPROVED, GateState.PENDING))
    return refused.exclude(state=GateState.VOID, run__status=Run.Status.CANCELLED)


def _said(team: Team, tool: str, times: int, who: str, user: Any) -> Eased:
    said = SAID.format(who=who, times=times, tool=tool, team=team.name)
    if team.is_editable_by(user):
        return Eased(said, COULD, f"{reverse('team-edit', args=[team.pk])}?ease={Effect.WRITES}#asked")
    whose = shown_name(team.owner.get_username()) if team.owner else "whoever may change teams here"
    return Eased(said, COULD, reverse("team", args=[team.pk]), whose)


def prepared(policy: dict[str, Any]) -> dict[str, Any]:
    return changes_pass_with_steps(Policy.of(policy)).as_json()
