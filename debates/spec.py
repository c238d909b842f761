"""The debate's procedure spec: its names and hooks for the engine and all interfaces."""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict

from engine.audit.entries_from_rows import RunEntries
from engine.models import Gate, ModelCall, Run
from engine.runtime.procedure import StepRequester
from runs.presets.entries import PresetEntrySource
from runs.presets.retention import preset_retention
from runs.procedure.exposure import ChatField, ChatModel, McpExposedTool
from runs.procedure.filters import People
from runs.procedure.fragments import PageFragment
from runs.procedure.spec import ProcedureSpec, ReviewFlag, RunSnapshot
from runs.record.redaction import redact_due
from runs.retention import KeptFor
from runs.row_queries import with_run

from . import (
    comparison,
    entries,
    history,
    human_turns,
    moderation,
    procedure,
    record,
    rehearsal,
    replay,
    responses,
    schemas,
    standing,
)
from .forking import DebateForks
from .history import DebateHistoryForm, outcome_label
from .models import DOCUMENTS, Debate, DebateFlag, DebateMember, DebateOption, DebateTurn, Panel, erase
from .models.visibility import hidden_steps, withheld_runs
from .page.display import DebateDisplay, display_of, fragments
from .presets import PanelSection
from .rerun import rerun_of, with_texts_beside
from .rules.outcome import NO_DECISION


def panel_names() -> list[str]:
    return [one.current.name for one in Panel.objects.available().with_content() if one.current]


def chat_answer(debate: Mapping[str, Any], holds: str) -> dict[str, Any]:
    reasons = [_reason(member) for member in debate["members"]]
    return {"option": holds, "reasons": reasons, "reason": "\n".join(reasons)}


def _reason(member: Mapping[str, Any]) -> str:
    stands_by = member["stands_by"] or ("abstained" if member["abstained"] else "nothing")
    return f"{member['name']} supports {stands_by}: {member['reasoning']}".rstrip(": ")


CHAT_MODEL = ChatModel(
    "panel",
    panel_names,
    lambda name, text: {"question": text, "panel": name},
    chat_answer,
    {"option": ChatField(), "reasons": ChatField("array")},
)

MCP_TOOLS = (
    McpExposedTool(
        "hold_debate",
        "Two to nine members argue about a question; a rule makes one of its options of what they stand "
        "by. Name a panel, or options and members.",
        "debates",
        schemas.NewDebate,
    ),
    McpExposedTool(
        "list_panels",
        "The panels that can debate, their options and members. By `name`, all that one panel holds.",
        "panels",
        one="panel",
    ),
)


class DebateSpec(ProcedureSpec[Debate, DebateDisplay]):
    noun, nouns = "debate", "debates"
    sign = "debate"
    schema = schemas.DebateOut
    as_model = CHAT_MODEL
    offers = MCP_TOOLS
    going_on = "debating"
    begun_at, begun_with = "debate-new", "question"
    begins_from = "debate__earlier"
    forks = DebateForks()
    verb, good_for = "Debate", "What speaks for what. Two to nine members argue until each has settled on an option."
    documents = DOCUMENTS
    takes_files = True
    rehearsal_speed = 3.0  # a whole debate in about a minute
    chores = (redact_due, human_turns.skip_disabled_members)
    chains = (PresetEntrySource(Panel),)
    shelves = (PanelSection(),)
    rehearsals = {
        "message": procedure.rehearsed_message,
        "closing": rehearsal.closing,
        "first": rehearsal.first,
        "timekeeper": rehearsal.timekeeper,
    }
    flags = tuple(DebateFlag)
    looks = (
        ReviewFlag(DebateFlag.NO_DECISION, "No decision", "its members' verdicts made none by the rule", "dash"),
        ReviewFlag(
            DebateFlag.CHAIR_NAMED_OPTION, "Chair named an option", "the chair spoke of one of the options", "person"
        ),
    )
    stays = "The members' verdicts stay."
    filters = ("panel", "rehearsal")
    heads = history.TABLE_HEADERS
    prefetch_for_table = staticmethod(history.prefetch_for_table)
    perform = staticmethod(procedure.perform)
    apply_decision = staticmethod(human_turns.apply_turn_answer)
    reserved_cost = staticmethod(procedure.held_back)
    facts = staticmethod(responses.debate_fields)
    compared = staticmethod(comparison.compare_debates)
    build_entries = staticmethod(entries.build_entries)
    validate_entries = staticmethod(entries.validate_entries)
    labels = staticmethod(entries.labels)

    def unsealed_mismatches(self, told: Mapping[Any, RunEntries]) -> Iterator[tuple[Any, str]]:
        yield from super().unsealed_mismatches(told)
        yield from standing.misstanding(list(told))

    recorded = staticmethod(record.debate_record)
    survives = True
    moments = staticmethod(replay.moments)
    chapter = staticmethod(replay.chapter)
    replay_mark = staticmethod(replay.replay_mark)
    record_styles = ("css/debate.css", "css/documents.css", "css/debate-record.css")
    record_without = ("prompt",)

    def erase(self, run: UUID) -> None:
        erase(run)

    def kept_for(self) -> KeptFor:
        return preset_retention(Panel, "debate__panel_version")

    def rows(self) -> QuerySet[Debate]:
        return Debate.objects.with_members()

    def rows_of_list(self) -> QuerySet[Debate]:
        return with_run(Debate.objects.all()).prefetch_related("members")

    def facts_of_list(self, row: Debate) -> dict[str, Any]:
        return {"rehearsal": row.rehearsal}

    def asker(self, run: UUID, step: str) -> StepRequester:
        kind, _, number = step.partition("-")
        if not number.isdigit():
            return StepRequester()
        if kind == "turn":
            named = DebateTurn.objects.filter(debate=run, number=number).values_list("member__name", flat=True)
            return StepRequester(named.first() or "A member", "message")
        if kind == "note":
            return StepRequester("The timekeeper", "words for its note")
        seated = DebateMember.objects.filter(debate=run, seat=number).values_list("name", flat=True)
        return StepRequester(seated.first() or "A member", "first position")

    def calls(self, row: Debate) -> list[ModelCall]:
        return row.calls

    def viewer_context(self, request: HttpRequest, row: Debate) -> dict[str, Any]:
        """Return the context for this viewer: a `key` that makes repeated posts from one page safe, and the turn of
        a person on a seat."""
        own = human_turns.seat_context(row, request.user) | {"held": rerun_of(row, request.user)}
        leave = {"seated": moderation.may_withdraw(row, request.user), "verdicts": row.settings.options}
        leave["may_look"] = row.with_person and moderation.may_read_first_statements(row, request.user)
        return {"key": secrets.token_hex(16), **leave, **own}

    # ---- its lists ----

    def prefetch_for_list(self, rows: QuerySet[Debate]) -> QuerySet[Debate]:
        return history.prefetch_for_list(rows)

    def glances(self, rows: Sequence[Debate]) -> Mapping[UUID, history.DebateSummary]:
        return history.debate_summaries(rows)

    def outcome_icons(self, runs: Sequence[UUID]) -> Mapping[UUID, Mapping[str, str]]:
        return {pk: history.option_icons(looks) for pk, looks in history.option_styles_by_debate(runs).items()}

    def columns(self, row: Debate) -> tuple[Sequence[object], Sequence[object]]:
        return history.table_columns(row)

    def form(self, asked: Mapping[str, Any], people: People = (), user: Any = None) -> DebateHistoryForm:
        return DebateHistoryForm(asked, list(self.standings), people)

    def possible_outcomes(self, outcome: str) -> bool:
        """Return whether an outcome can be filtered by: any word may be an option, except the status words."""
        return outcome not in self.standings

    def filter_labels(self, run: Run) -> tuple[str, str]:
        return ("judging", "Debating") if run.status == Run.Status.RUNNING else super().filter_labels(run)

    def outcome_filter(self, outcome: str) -> tuple[str, str]:
        """Return icon and label of an outcome. The icon of an option depends on the debate: see `option_icons`."""
        return history.UNDECIDED_ICON if outcome == NO_DECISION else "mid", outcome_label(outcome)

    def in_words(self, outcome: str | None) -> str:
        """Return the outcome as text; options keep their spelling."""
        return "no decision" if outcome == NO_DECISION else outcome or ""

    def calls_shown(self, row: Debate, calls: Sequence[ModelCall]) -> list[ModelCall]:
        hidden = hidden_steps(row)
        return [call for call in calls if call.step not in hidden]

    def rehearsal(self, row: Debate) -> str:
        return row.rehearsal_sentence

    def outcomes_of(self, run: Run) -> list[str]:
        return [*DebateOption.objects.filter(debate=run.pk).values_list("word", flat=True), NO_DECISION]

    def estimate(self, row: Debate) -> int | None:
        return row.estimate().cost

    def display(self, seen: RunSnapshot[Debate]) -> DebateDisplay:
        return display_of(seen)

    def fragments(self, display: DebateDisplay) -> Iterator[PageFragment]:
        return fragments(display)

    def rows_sharing_texts(self, run: Run) -> Sequence[Debate]:
        return with_texts_beside(run.pk)

    def hidden_run_ids(self, runs: Iterable[Run]) -> Mapping[UUID, str]:
        return withheld_runs(runs)

    def at_moment(self, row: Debate, moment: datetime) -> Debate:
        return replay.at_moment(row, moment)

    def answers(self, row: Debate) -> Mapping[int, str]:
        return replay.answers_until(row)

    def provenance(self, row: Debate) -> Iterator[tuple[str, str]]:
        return record.provenance(row)

    def prompts(self, row: Debate) -> dict[str, str]:
        return {"Question": row.question}

    def gate_template(self, gate: Gate) -> str:
        return "debates/_turn.html"

    def gate_context(self, gate: Gate, typed: Mapping[str, Any]) -> dict[str, Any]:
        return human_turns.turn_form(gate, typed)

    def gate_answer(self, gate: Gate, typed: QueryDict) -> Any:
        if typed.get("said", "").endswith(f" {human_turns.SKIP}"):
            return None  # the text of a skipped turn's form is not a message
        return human_turns.answer_of(typed)
