"""The ProcedureSpec of missions, by which the engine, the pages and the API know them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string

from engine.audit.entries_from_rows import RunEntries
from engine.models import Gate, ModelCall, Run
from engine.models.gates import DecisionValue
from engine.runtime.procedure import StepRequester
from runs.approvals.pending import gate_context, may_see
from runs.forms import parse_number
from runs.presets.entries import PresetEntrySource
from runs.presets.retention import preset_retention
from runs.procedure.exposure import ChatModel, McpExposedResource, McpExposedTool
from runs.procedure.filters import People
from runs.procedure.filters import RunHistoryForm as AnyHistoryForm
from runs.procedure.fragments import PageFragment
from runs.procedure.gate_page import asked_by
from runs.procedure.spec import ProcedureSpec, RunSnapshot
from runs.record.redaction import redact_due
from runs.retention import KeptFor
from runs.row_queries import with_run

from . import (
    comparison,
    customs,
    display,
    egress_policy,
    entries,
    memory_review,
    procedure,
    rehearsal,
    replay,
    responses,
    sandbox_selftest,
    schemas,
    tools,
)
from .display import MissionDisplay, display_of
from .display.page import fragments
from .forking import MissionForks
from .history import MissionHistoryForm
from .models import Crew, Mission, MissionAgent, writes
from .models.flags import MissionFlag
from .models.queries import asked_in
from .presets import MemorySection, MissionTeamSection, team_names
from .repositories import cloning
from .rules import COORDINATOR, OWN_STEPS
from .tools.publish import PUBLISH_COMMIT


def chat_answer(mission: Mapping[str, Any], holds: str) -> dict[str, Any]:
    did = f"What tools did: {mission['figures']}"
    return {"reason": "\n\n".join(filter(None, [mission["result"], mission["unproven"], did]))}


CHAT_MODEL = ChatModel("crew", team_names, lambda name, text: {"goal": text, "crew": name}, chat_answer)

MCP_TOOLS = (
    McpExposedTool(
        "start_mission",
        "A crew of agents pursues a goal in a sandbox without network, on the files that are sent along; "
        "a check can say whether it is done.",
        "missions",
        schemas.NewMission,
    ),
)
MCP_RESOURCES = (McpExposedResource("terminals", "A command of a mission, with all that it said.", "mission_terminal"),)


def viewer_context(mission: Mission, request: HttpRequest) -> dict[str, Any]:
    asked = parse_number(request.GET.get("focus", ""))
    numbers = [one.number for one in mission.crew_list]
    gates = Gate.objects.with_decisions().filter(run=mission.pk).pending() if not mission.run.is_ended else ()
    parts = [render_to_string("runs/_at_gate.html", gate_context(gate, request.user, {}), request) for gate in gates]
    return {"focus": asked if asked in numbers else COORDINATOR, "gate_panels": {0: parts}}


def decides_about_branches(user: Any, mission: UUID) -> bool:
    """Whether the user is an approver of a publication, and may therefore read the branch."""
    return any(may_see(gate, user) for gate in Gate.objects.with_decisions().filter(run=mission, tool=PUBLISH_COMMIT))


class MissionSpec(ProcedureSpec[Mission, MissionDisplay]):
    noun, nouns = "mission", "missions"
    sign = "mission"
    schema = schemas.MissionOut
    as_model = CHAT_MODEL
    offers = MCP_TOOLS
    held = MCP_RESOURCES
    begun_at, begun_with = "mission-new", "goal"
    begins_from = "mission__follows"
    forks = MissionForks()
    verb, good_for = "Work", "A goal that agents pursue in a sandbox: they run commands and change files."
    going_on = "working"
    outcomes = tuple(display.OUTCOMES)
    flags = tuple(MissionFlag)
    shelves = (MissionTeamSection(), MemorySection())
    chains = (memory_review.MemoryEntrySource(), PresetEntrySource(Crew))
    tools = tools.TOOLS
    chores = (redact_due, sandbox_selftest.probe_daily, cloning.sweep)
    acts = True
    takes_files = True
    survives = True
    rehearsal_speed = 3.0
    rehearsals = {
        "mission-step": rehearsal.rehearse_step,
        "mission-summary": rehearsal.rehearse_summary,
        "mission-memory": rehearsal.rehearse_shortening,
    }
    stays = "The result stays."
    filters = (*MissionHistoryForm.sets, "rehearsal")
    perform = staticmethod(procedure.perform)
    council_uses = staticmethod(egress_policy.council_uses)
    reserved_cost = staticmethod(procedure.held_back)
    facts = staticmethod(responses.mission_fields)
    compared = staticmethod(comparison.compare_missions)
    build_entries = staticmethod(entries.build_entries)
    validate_entries = staticmethod(entries.validate_entries)
    labels = staticmethod(entries.labels)

    def unsealed_mismatches(self, told: Mapping[Any, RunEntries]) -> Iterator[tuple[Any, str]]:
        yield from super().unsealed_mismatches(told)
        yield from entries.misnamed(list(told))

    moments = staticmethod(replay.moments)
    record_styles = ("css/mission.css",)
    record_without = ("prompt",)

    def kept_for(self) -> KeptFor:
        return preset_retention(Crew, "mission__crew_version")

    def erase(self, run: UUID) -> None:
        writes.erase(run)

    def related_run_ids(self, run: UUID) -> QuerySet[Run]:
        """Missions that continue this one: they have its files."""
        return Run.objects.filter(mission__follows=run)

    def rows(self) -> QuerySet[Mission]:
        return Mission.objects.with_agents()

    def rows_of_list(self) -> QuerySet[Mission]:
        return with_run(Mission.objects.all()).prefetch_related("agents")

    def facts_of_list(self, row: Mission) -> dict[str, Any]:
        return {"rehearsal": row.rehearsal}

    def asker(self, run: UUID, step: str) -> StepRequester:
        what, number = asked_in(step)
        if not number:
            return StepRequester()
        name = MissionAgent.objects.filter(mission=run, number=number).values_list("name", flat=True).first()
        return StepRequester(name or "An agent", what)

    def calls(self, row: Mission) -> list[ModelCall]:
        return list(row.run.calls.all())

    def estimate(self, row: Mission) -> int | None:
        """None, as the number of steps is unknown; 0 for a rehearsal."""
        return 0 if row.rehearsal else None

    def display(self, seen: RunSnapshot[Mission]) -> MissionDisplay:
        return display_of(seen)

    def fragments(self, display: MissionDisplay) -> Iterator[PageFragment]:
        return fragments(display)

    def partial_text(self, row: Mission) -> Mapping[str, str]:
        return {} if row.run.is_ended else display.new_output(row)

    def viewer_context(self, request: HttpRequest, row: Mission) -> dict[str, Any]:
        return viewer_context(row, request)

    def at_moment(self, row: Mission, moment: datetime) -> Mission:
        return replay.at_moment(row, moment)

    def form(self, asked: Mapping[str, Any], people: People = (), user: Any = None) -> AnyHistoryForm:
        return MissionHistoryForm(asked, (*self.outcomes, *self.standings), people)

    def outcome_filter(self, outcome: str) -> tuple[str, str]:
        return display.OUTCOMES[outcome]

    def filter_labels(self, run: Run) -> tuple[str, str]:
        return ("judging", "Working") if run.status == Run.Status.RUNNING else super().filter_labels(run)

    def prompts(self, row: Mission) -> dict[str, str]:
        return {"Goal": row.goal}

    def provenance(self, row: Mission) -> Iterator[tuple[str, str]]:
        yield "Crew", ", ".join(one.name for one in row.crew_list)
        if held := customs.from_json(row.customs):
            yield "Customs", customs.names_line(held)
        yield "Steps", str(len(row.steps.all()))

    def rehearsal(self, row: Mission) -> str:
        return "Rehearsal: no model was asked. Steps follow a stated script." if row.rehearsal else ""

    def heading(self, gate: Gate) -> str:
        is_asked_by_agent = gate.kind == "question" and not gate.step.startswith(OWN_STEPS)
        return asked_by(gate.title.partition(":")[0], gate) if is_asked_by_agent else gate.title

    def button_labels(self, gate: Gate) -> Mapping[str, str]:
        return {DecisionValue.APPROVE: "Approve once", DecisionValue.REJECT: "Reject"}

    def columns(self, row: Mission) -> tuple[Sequence[object], Sequence[object]]:
        return [row.goal], [len(row.steps.all()), row.result]

    heads = (["goal"], ["steps", "result"])
