"""Registers plans with the engine, the pages, the API, MCP and commands."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from engine.audit.entries_from_rows import RunEntries
from engine.db.cached_sql import fetch
from engine.models import Gate, ModelCall, Run
from engine.models.gates import DecisionValue, title_that_fits
from engine.runtime.procedure import StepRequester
from engine.tools import get_tool
from runs.presets.entries import PresetEntrySource
from runs.presets.retention import preset_retention
from runs.procedure.exposure import ChatModel, McpExposedTool
from runs.procedure.filters import People
from runs.procedure.fragments import PageFragment
from runs.procedure.gate_page import asked_by
from runs.procedure.spec import ProcedureSpec, RunSnapshot
from runs.record.redaction import redact_due
from runs.retention import KeptFor
from runs.row_queries import with_run

from . import (
    approvals,
    comparison,
    display,
    entries,
    gate_decisions,
    policy_suggestions,
    procedure,
    projects,
    record,
    rehearsal,
    replay,
    responses,
    schemas,
    viewer_actions,
)
from .display import PlanDisplay, display_of, fragments
from .forking import PlanForks
from .history import PlanHistoryForm
from .models import OUTCOMES, Plan, PlanStep, Team, queries, writes
from .models.presets import council_uses
from .presets import PlanTeamSection
from .rules.approval_policy import ApprovalKind
from .rules.claims import noted
from .rules.enums import PlanOutcome, StepEffect
from .rules.gate_text import parse_action


def team_names() -> list[str]:
    return [one.current.name for one in Team.objects.available().with_content() if one.current]


def chat_answer(plan: Mapping[str, Any], holds: str) -> dict[str, Any]:
    steps = [
        f"{step['number']}. {step['action']}: {noted(step['note'] or '', step['reply'] or step['status'])}"
        for step in plan["steps"]
    ]
    did = f"What tools did: {plan['figures']}"
    return {"reason": "\n\n".join(filter(None, [plan["summary"], did, "\n".join(steps)]))}


CHAT_MODEL = ChatModel("team", team_names, lambda name, text: {"task": text, "team": name}, chat_answer)

MCP_TOOLS = (
    McpExposedTool(
        "start_plan",
        "Plans a task in steps for the agents of a team. People are asked before what matters, and then "
        "it waits for them.",
        "plans",
        schemas.NewPlan,
    ),
    McpExposedTool(
        "list_teams",
        "The teams that can plan, and their agents. By `name`, one team with tools and policy.",
        "teams",
        one="team",
    ),
    McpExposedTool(
        "list_tools",
        "The tools that agents of teams may have.",
        "tools",
    ),
)

# buttons of gates at which only one decision is possible without a choice
PLAIN_BUTTON_LABELS: Mapping[str, Mapping[str, str]] = {
    ApprovalKind.QUESTION: {DecisionValue.ANSWER: "Answer"},
    ApprovalKind.SEAT: {DecisionValue.APPROVE: "It is done"},
}


EFFECTS_ATTRIBUTE = "_effects_of_its_steps"  # set on gates of a list, so that it needs one query


class PlanSpec(ProcedureSpec[Plan, PlanDisplay]):
    noun, nouns = "plan", "plans"
    sign = "plan"
    schema = schemas.PlanOut
    as_model = CHAT_MODEL
    offers = MCP_TOOLS
    begun_at, begun_with = "plan-new", "task"
    begins_from = "plan__earlier"
    forks = PlanForks()
    verb, good_for = "Plan", "A task in steps. You see all of them before anything happens."
    going_on = "going on"
    outcomes = tuple(OUTCOMES)
    chores = (redact_due, projects.erase_deleted_projects)
    chains = (PresetEntrySource(Team),)
    rehearsals = {
        "plan": rehearsal.rehearse_planner,
        "plan-tools": rehearsal.tools,
        "plan-move": rehearsal.rehearse_agent,
        "plan-summary": rehearsal.rehearse_summary,
    }
    stays = "What was done stays done."
    filters = (*PlanHistoryForm.sets, "rehearsal")
    shelves = (PlanTeamSection(),)
    perform = staticmethod(procedure.perform)
    apply_decision = staticmethod(gate_decisions.apply_decision)
    place_of_words = staticmethod(gate_decisions.place_of_words)
    word_sources = staticmethod(gate_decisions.word_sources)
    council_uses = staticmethod(council_uses)
    policy_suggestion = staticmethod(policy_suggestions.policy_suggestion)
    earlier = staticmethod(approvals.earlier_approval_text)
    facts = staticmethod(responses.plan_fields)
    compared = staticmethod(comparison.compare_plans)
    build_entries = staticmethod(entries.build_entries)
    validate_entries = staticmethod(entries.validate_entries)
    labels = staticmethod(entries.labels)
    moments = staticmethod(replay.moments)
    record_styles = ("css/plan.css",)
    record_without = ("prompt",)

    def erase(self, run: UUID) -> None:
        writes.erase(run)

    def runs_read_from(self, run: Run) -> Q:
        [plan] = fetch(Plan, "pk", [run.pk])
        return plan.earlier_in_project

    def rows_sharing_texts(self, run: Run) -> list[Plan]:
        return queries.plans_shown_this_plan(run.pk)

    def kept_for(self) -> KeptFor:
        return preset_retention(Team, "plan__team_version")

    def rows(self) -> QuerySet[Plan]:
        return Plan.objects.with_steps()

    def rows_of_list(self) -> QuerySet[Plan]:
        return with_run(Plan.objects.select_related("team_version", "matter")).prefetch_related("team_version__agents")

    def facts_of_list(self, row: Plan) -> dict[str, Any]:
        return responses.facts_of_list(row)

    def asker(self, run: UUID, step: str) -> StepRequester:
        kind, _, rest = step.partition("-")
        if kind != "step":
            return StepRequester("The planner", {"plan": "plan", "tools": "names of tools"}.get(kind, kind))
        number = rest.partition("-")[0]
        if not number.isdigit():
            return StepRequester()
        name = PlanStep.objects.filter(plan=run, number=number).values_list("agent__name", flat=True).first()
        return StepRequester(name or "An agent", f"next move in step {number}")

    def calls(self, row: Plan) -> list[ModelCall]:
        return list(row.run.calls.all())

    def estimate(self, row: Plan) -> int | None:
        """Return None: the number of moves of its steps is unknown."""
        return 0 if row.rehearsal else None

    def display(self, seen: RunSnapshot[Plan]) -> PlanDisplay:
        return display_of(seen)

    def fragments(self, display: PlanDisplay) -> Iterator[PageFragment]:
        return fragments(display)

    def at_moment(self, row: Plan, moment: datetime) -> Plan:
        return replay.at_moment(row, moment)

    def step_labels(self, steps: Collection[tuple[UUID, str]]) -> Mapping[tuple[UUID, str], tuple[str, str]]:
        return queries.step_labels(steps)

    def form(self, asked: Mapping[str, Any], people: People = (), user: Any = None) -> PlanHistoryForm:
        return PlanHistoryForm(asked, (*self.outcomes, *self.standings), people, user)

    def outcome_filter(self, outcome: str) -> tuple[str, str]:
        return display.OUTCOMES[PlanOutcome(outcome)]

    def filter_labels(self, run: Run) -> tuple[str, str]:
        return ("judging", "Working") if run.status == Run.Status.RUNNING else super().filter_labels(run)

    def prompts(self, row: Plan) -> dict[str, str]:
        return {"Task": row.task}

    def provenance(self, row: Plan) -> Iterator[tuple[str, str]]:
        yield "Team", f"{row.team_version.name}, version {row.team_version.number}"
        yield "Revisions", str(row.revision)

    def rehearsal(self, row: Plan) -> str:
        return "Rehearsal: no model was asked. Answers follow a stated rule." if row.rehearsal else ""

    def viewer_context(self, request: HttpRequest, row: Plan) -> dict[str, Any]:
        return viewer_actions.viewer_context(row, request)

    def button_labels(self, gate: Gate) -> Mapping[str, str]:
        if gate.kind in PLAIN_BUTTON_LABELS:
            return PLAIN_BUTTON_LABELS[gate.kind]
        return {
            word: sentence for word, sentence in super().button_labels(gate).items() if word != DecisionValue.ANSWER
        }

    def refused_at(self, gate: Gate) -> Collection[tuple[str, str]]:
        return queries.refused_at(gate)

    def is_text_repeated(self, gate: Gate) -> bool:
        """Tell whether the page already shows the gate's text as steps."""
        return gate.kind in (ApprovalKind.PLAN, ApprovalKind.STEP)

    def context_url(self, gates: Sequence[Gate]) -> None:
        plans = [gate for gate in gates if gate.kind == ApprovalKind.PLAN]
        found = defaultdict(set)
        rows = PlanStep.objects.filter(plan__in={gate.run_id for gate in plans}, last_in=None)
        for plan, effect in rows.order_by().values_list("plan", "effect").distinct():
            found[plan].add(effect)
        for gate in plans:
            gate.__dict__[EFFECTS_ATTRIBUTE] = found[gate.run_id]

    def reaches_out(self, gate: Gate) -> bool:
        return gate.reaches_out or StepEffect.REACHES_OUT in _effects(gate)

    def changes_nothing(self, gate: Gate) -> bool:
        return set(_effects(gate)) == {StepEffect.READS}

    def sort_priority(self, gate: Gate) -> bool:
        return gate.kind == ApprovalKind.PLAN

    def heading(self, gate: Gate) -> str:
        step = gate.title.partition(" of ")[0]
        if gate.kind == ApprovalKind.QUESTION:
            if gate.text.startswith("The planner "):  # asked by MAGI, since the planner's answer was unusable
                return title_that_fits(gate.text)
            return asked_by(f"{step} asks" if queries.number_of(gate) else "The planner asks", gate)
        if gate.kind == ApprovalKind.FAILURE and gate.title:
            return f"{step} failed. What now?"
        if gate.kind == ApprovalKind.SEAT:
            return asked_by(f"{step} is for a person", gate)
        action = " ".join(parse_action(gate.text).split()) if gate.kind == ApprovalKind.STEP else ""
        return title_that_fits(f"{step}: {action}") if action else gate.title

    def recorded(self, seen: RunSnapshot[Plan], display: PlanDisplay) -> dict[str, Any]:
        dropped = [step for step in seen.row.steps.all() if step.last_in is not None]
        return {
            "dropped": dropped,
            "came_about": [("Revisions", record.revision_lines(seen.row)), ("Moves", record.move_lines(seen.row))],
        }

    def unsealed_mismatches(self, runs: Mapping[Any, RunEntries]) -> Iterator[tuple[Any, str]]:
        yield from super().unsealed_mismatches(runs)
        yield from entries.inconsistent_runs(list(runs))

    def columns(self, row: Plan) -> tuple[Sequence[object], Sequence[object]]:
        return [row.task, row.team_version.name, row.team_version.number], [row.revision, row.summary]

    heads = (["task", "team", "team version"], ["revisions", "summary"])


def _effects(gate: Gate) -> Collection[str]:
    """Return the effects of all that an approval allows; empty if the kind of gate does not tell."""
    if gate.kind == ApprovalKind.PLAN:
        return (
            gate.__dict__[EFFECTS_ATTRIBUTE]
            if EFFECTS_ATTRIBUTE in gate.__dict__
            else set(PlanStep.objects.filter(plan=gate.run_id, last_in=None).values_list("effect", flat=True))
        )
    if gate.kind == ApprovalKind.TOOL:
        tool = get_tool(gate.tool)
        return [tool.effect if tool else StepEffect.REACHES_OUT]
    return [gate.effect] if gate.effect else []
