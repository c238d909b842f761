"""Validation of a new mission, for the page, the command line and the API."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from engine.llm.tokens import prompt_tokens, too_long
from engine.models import TITLE_LENGTH
from engine.tools import available_tools
from runs.forms import PlainTextField, SpendField, first_errors, validate_model

from . import customs, egress_policy, publishing, workspace, workspace_sources
from .archive_reader import FILES, TOGETHER
from .models import CrewVersion, Mission
from .models.files import newest_file_versions
from .models.queries import first_step
from .presets import agent_row, agent_rows, find_team
from .repositories import cloning
from .repositories.cloning import Cloned, RepositoryRefused
from .repositories.contents import texts_at
from .rules import MOST, MissionLimits, agent_name_problem
from .tools import NAMES
from .workspace_files import LONGEST, FileProblem, relative_path

GOAL_LENGTH, CHECK_LENGTH, MODEL_LENGTH, CREW_LENGTH, GIT_LENGTH = 20_000, 16_000, 200, 100, 1_000
RESULT_TOKENS = 500  # estimate for the result of a first tool call
COORDINATES, OF_OTHERS = "finish", "mcp."
LIMITS = ("steps", "minutes", "agents")  # those with a field in the form


def _limit(name: str, label: str) -> forms.IntegerField:
    wrong = f"Write a number from 1 to {MOST[name]:,}, or nothing."
    said = dict.fromkeys(("invalid", "min_value", "max_value"), wrong)
    return forms.IntegerField(label=label, required=False, min_value=1, max_value=MOST[name], error_messages=said)


def _who(name: str, label: str) -> forms.ChoiceField:
    said = {"invalid_choice": f"Write one of {', '.join(egress_policy.APPROVER_CHOICES[name])}."}
    return forms.ChoiceField(
        label=label, required=False, choices=[*egress_policy.APPROVER_CHOICES[name].items()], error_messages=said
    )


class MissionForm(forms.Form):
    goal = PlainTextField(max_length=GOAL_LENGTH, needed="Write a goal. It is empty.", lines=True, label="Goal")
    title = PlainTextField(max_length=TITLE_LENGTH, label="Title")
    crew = PlainTextField(max_length=CREW_LENGTH, label="Crew")
    model = PlainTextField(
        max_length=MODEL_LENGTH, label="Model", help_text="Of the whole crew; empty is the default one."
    )
    git = PlainTextField(max_length=GIT_LENGTH, label="Repository")
    check = PlainTextField(max_length=CHECK_LENGTH, label="Check", lines=True)
    network = _who("network", "Reaches a host by https")
    publish = _who("publish", "Publishes a branch")
    typing = _who("typing", "Types into a terminal")
    steps = _limit("steps", "Steps")
    minutes = _limit("minutes", "Minutes of work")
    agents = _limit("agents", "Agents")
    spend = SpendField()

    def clean_crew(self) -> CrewVersion | None:
        return find_team(self.cleaned_data["crew"])

    def clean_model(self) -> str:
        return validate_model(self.cleaned_data["model"]) or settings.DEFAULT_MODEL


def submit_values(
    given: dict[str, Any],
    files: Sequence[tuple[str, str]] = (),
    crew: Iterable[dict[str, Any]] | None = None,
    limits: dict[str, int] | None = None,
    follows: str = "",
    note: str = "",
    repository: Cloned | None = None,
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the arguments of `procedure.submit` and a list of problems by field; one of them is empty.

    crew: agents instead of a saved crew
    limits: limits without a field in the form
    follows: id of an ended mission whose files the new one continues with; its crew too, if no other is named. The
        caller has checked that it may be seen.
    note: what agents should know about the origin of the files
    repository: an uploaded repository, to which the files are added
    """
    form = MissionForm({name: value for name, value in given.items() if value is not None})
    problems = first_errors(form) if not form.is_valid() else []
    if lacking := workspace.missing_programs():
        problems.append(("goal", f"No command can be held here, so nothing was begun: {lacking}"))
    bounds = {**(limits or {}), **{name: form.cleaned_data[name] for name in LIMITS if form.cleaned_data.get(name)}}
    problems += list(_of_limits(bounds)) + list(_of_files(files))
    before, wrong = _followed(follows) if follows else (None, [])
    problems += wrong
    own = list(crew) if crew is not None else None
    problems += list(_of_crew(own)) if own is not None else []
    if problems:
        return {}, problems
    values = dict(form.cleaned_data)
    model, version = values.pop("model"), values.pop("crew")
    values.pop("git")
    for limit in LIMITS:
        values.pop(limit)
    policy = egress_policy.egress_policy({name: values.pop(name) for name in egress_policy.APPROVER_CHOICES})
    if before is not None and own is None and not given.get("crew"):
        version, own = before.crew_version, list(_as_before(before, given.get("model") or ""))
    held = (
        [agent_row({**one, "model": one.get("model") or model}, model) for one in own]
        if own
        else agent_rows(version, model)
    )
    named = _of_names(held, "agents" if own else "crew")
    if problems := [*named, *_too_long(values["goal"], values["check"], held, own is not None)]:
        return {}, problems
    if before is not None and before.begun_with is None:
        kept = [(one.path, one.text) for one in newest_file_versions(before.files.all()).values()]
        files = [*kept, *files]
    try:
        repository = _repository(given.get("git") or "", repository, before)
    except RepositoryRefused as unusable:
        return {}, [("git", str(unusable))]
    return {
        **values,
        "agents": held,
        "crew": None if crew else version,
        "files": files,
        "repository": repository,
        "limits": bounds,
        "policy": policy,
        "follows": before,
        "customs": _customs(files, repository, version, before),
        "note": "\n".join(filter(None, (repository.note if repository else "", note))),
    }, []


def _customs(
    files: Sequence[tuple[str, str]], repository: Cloned | None, version: CrewVersion | None, before: Mission | None
) -> str:
    """The conventions of the crew and of the workspace as it was uploaded, as JSON."""
    of_crew = version.customs if version else ""
    if before is not None:
        return customs.to_json(customs.for_next(customs.from_json(before.customs), of_crew))
    found = texts_at(cloning.staged(repository.staged), repository.commit, customs.NAMES) if repository else {}
    return customs.to_json(customs.chosen({**found, **dict(files)}, of_crew))


def _repository(address: str, uploaded: Cloned | None, before: Mission | None) -> Cloned | None:
    """The repository to begin with, or None. Called after all other checks, since cloning takes longest.

    Raises RepositoryRefused.
    """
    row = before.begun_with if before else None
    if len([one for one in (address, uploaded, row) if one]) > 1:
        raise RepositoryRefused(
            "A mission begins with one repository: an address, an upload, or that of an earlier mission."
        )
    if address:
        return workspace_sources.source_from_git(address).repository
    if row is None:
        return uploaded
    try:
        end = publishing.keep_end(row.mission_id, "What was not committed")
    except publishing.NotPublished as error:
        raise RepositoryRefused(f"That mission's repository cannot be had: {error}") from error
    return cloning.from_mission(publishing.repository(row.mission_id), row.address, row.base, row.branch, end)


def _as_before(before: Mission, model: str) -> Iterator[dict[str, Any]]:
    """The agents of an earlier mission, without those that were spawned."""
    for one in before.crew_list:
        if not one.parent:
            said = {name: getattr(one, name) for name in ("name", "description", "tools", "rights")}
            yield {**said, "model": model or one.model}


def _of_limits(limits: dict[str, int]) -> Iterable[tuple[str, str]]:
    try:
        MissionLimits.of(limits)
    except ValueError as wrong:
        yield "limits", str(wrong)


def _of_files(files: Sequence[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    if len(files) > FILES:
        yield "files", f"There are {len(files)} files, and {FILES} are taken."
    if sum(len(text.encode(errors="replace")) for _, text in files) > TOGETHER:
        yield "files", f"All files together have more than {TOGETHER:,} bytes."
    names = set()
    for path, text in files[:FILES]:
        try:
            if ".." in relative_path(path).split("/") or path in names:
                raise FileProblem("outside", "It leads out, or is there twice.")
            names.add(path)
        except FileProblem as problem:
            yield "files", f"{path[:100]}: {problem.say}"
        if len(text.encode(errors="replace")) > LONGEST or "\0" in text:
            yield "files", f"{path[:100]} is no text of at most {LONGEST:,} bytes."


def _of_crew(crew: Sequence[dict[str, Any]]) -> Iterable[tuple[str, str]]:
    if not crew:
        yield "agents", "Name at least one agent: the first coordinates."
    of_others = {name for name in available_tools("mission") if name.startswith(OF_OTHERS)}
    for number, one in enumerate(crew):
        if wrong := agent_name_problem(one["name"], [other["name"] for other in crew[:number]]):
            yield f"agents.{number}.name", wrong
        if strange := [name for name in one.get("tools") or () if name not in NAMES and name not in of_others]:
            yield f"agents.{number}.tools", f"There is no tool {', '.join(name[:60] for name in strange)} for agents."
        if one.get("model"):
            try:
                validate_model(one["model"])
            except ValidationError as error:
                yield f"agents.{number}.model", " ".join(error.messages)
    if crew and crew[0].get("tools") is not None and COORDINATES not in crew[0]["tools"]:
        yield "agents.0.tools", "The first coordinates and needs finish."


def _of_names(held: Sequence[dict[str, Any]], field: str) -> Iterator[tuple[str, str]]:
    """Problems of names. Saved crews are checked too: they may be older than a rule for names."""
    for number, one in enumerate(held):
        if wrong := agent_name_problem(one["name"], [other["name"] for other in held[:number]]):
            yield field, wrong


def _too_long(goal: str, check: str, crew: Sequence[dict[str, Any]], own: bool) -> Iterator[tuple[str, str]]:
    """Problems of first requests that exceed a model's context, where it is known. `own`: agents were given one by one,
    so the problem is reported at the agent's field."""
    for number, one in enumerate(crew):
        prompt = prompt_tokens(first_step(one, goal, check, coordinates=number == 0)) + RESULT_TOKENS
        if said := too_long(one["model"], prompt, f"the first request to {one['name']}"):
            shorten = "Name another model, shorten the goal, or give the agent fewer tools."
            yield (f"agents.{number}.model" if own else "model"), f"{said} {shorten}"


def _followed(pk: str) -> tuple[Mission | None, list[tuple[str, str]]]:
    try:
        found = Mission.objects.filter(pk=UUID(pk)).select_related("run", "repository").first()
    except ValueError:
        found = None
    if found is None:
        return None, [("mission", "There is no such mission.")]
    if not found.run.is_ended or found.run.redacted:
        return None, [("mission", "That mission is not over, or its texts were erased.")]
    return found, []
