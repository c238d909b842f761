"""No door takes a name that people cannot tell from a reserved one, or from one that is there already."""

import json
from collections.abc import Callable

import pytest
from django.db import IntegrityError, transaction

from debates.forms import DebateSubmission as DebateSubmission
from debates.forms import PanelSubmission
from debates.models import Panel
from inquiries.models import Roster
from judgements.forms import CouncilSubmission
from judgements.forms import JudgementSubmission as JudgementSubmission
from judgements.models import Council
from missions import memory_files, memory_review
from missions import team_files as crew_files
from missions.forms import submit_values as asked_mission
from missions.models import Crew
from missions.rules import agent_name_problem
from plans import team_files
from plans.models import Team
from plans.prompts.planner import PlannerBrief, PromptOwner, read_plan
from plans.team_formset import TeamSubmission
from tests.conftest import agents
from tests.engine.test_names import COMBINING, CYRILLIC, FULL_WIDTH, ZERO_WIDTH

pytestmark = pytest.mark.django_db
DISGUISES = (ZERO_WIDTH, FULL_WIDTH, CYRILLIC, COMBINING, "person")


def trio(first: str, second: str) -> list[dict[str, str]]:
    return [{**one, "name": name} for one, name in zip(agents(), (first, second, "Casper"), strict=True)]


def posted(noun: str, given: list[dict[str, str]]) -> dict[str, str]:
    return {f"{noun}{number}-{key}": value for number, one in enumerate(given, 1) for key, value in one.items()}


def debaters(first: str, second: str) -> list[dict[str, str]]:
    return [{"name": name, "who": "Knows it.", "model": "rehearsal/instant"} for name in (first, second)]


def of_form(submission: object) -> list[str]:
    submission.is_valid()  # type: ignore[attr-defined]
    return [one.path for one in submission.problems]  # type: ignore[attr-defined]


def of_file(read: Callable[..., object], given: object) -> list[str]:
    try:
        read(given)
    except (team_files.InvalidTeamFile, crew_files.InvalidMissionTeamFile) as wrong:
        return [path for path, _ in wrong.problems]
    return []


OPTIONS = [{"word": "GO"}, {"word": "STAY"}]
TWO = {
    "judgement": lambda *two: of_form(JudgementSubmission.of({"content": "Go?"}, trio(*two))),
    "council": lambda *two: of_form(CouncilSubmission({"name": "A", **posted("a", trio(*two))})),
    "debate": lambda *two: of_form(DebateSubmission.of(OPTIONS, debaters(*two), question="Go?")),
    "panel": lambda *two: of_form(
        PanelSubmission({"name": "A", **posted("o", OPTIONS), **posted("m", debaters(*two))})
    ),
    "options": lambda *two: of_form(
        DebateSubmission.of([{"word": word} for word in two], debaters("A", "B"), question="Go?")
    ),
    "crew": lambda *two: of_file(crew_files.parse_team, {"name": "A", "agents": [{"name": one} for one in two]}),
    "mission": lambda *two: [
        path for path, _ in asked_mission({"goal": "Go."}, crew=[{"name": one} for one in two])[1] if path != "goal"
    ],
    "agent that is made": lambda first, second: [one for one in [agent_name_problem(second, [first])] if one],
}
ONE = {
    "team as a file": lambda name: of_file(team_files.parse_team, {"name": "A", "agents": [{"name": name}]}),
    "team as a form": lambda name: of_form(TeamSubmission({"name": "A", "a1-name": name})),
}
RESERVED = {
    "debate": ("Chair", lambda name: of_form(DebateSubmission.of(OPTIONS, debaters("A", name), question="Go?"))),
    "option": (
        "ABSTAIN",
        lambda word: of_form(DebateSubmission.of([*OPTIONS, {"word": word}], debaters("A", "B"), question="Go?")),
    ),
    "mission": ("human_user", lambda name: [one for one in [agent_name_problem(name, [])] if one]),
}


def in_cyrillic(name: str) -> str:
    return name.translate(str.maketrans("aeAEm", "аеАЕм"))


def test_of_two_that_look_alike_every_door_refuses_the_second():
    pairs = [("Person", name) for name in DISGUISES]
    assert [(door, pair) for door, problems in TWO.items() for pair in pairs if not problems(*pair)] == []
    assert [door for door, problems in TWO.items() if door != "agent that is made" and problems("Ada", "Ben")] == []


def test_the_seat_of_a_person_is_no_name_of_an_agent_in_disguise():
    assert [(door, name) for door, problems in ONE.items() for name in DISGUISES if not problems(name)] == []
    assert [path for path in ONE["team as a file"]("Ada")] == []


def test_reserved_names_are_refused_in_letters_of_another_script():
    taken = [door for door, (name, problems) in RESERVED.items() if not problems(in_cyrillic(name))]
    assert (taken, [name for name, _ in RESERVED.values() if in_cyrillic(name) == name]) == ([], [])


@pytest.mark.parametrize("model", [Council, Panel, Team, Roster, Crew])
def test_nothing_is_saved_under_a_name_that_looks_like_another(mira, model):
    held = {
        Council: {"agents": agents()},
        Panel: {"members": debaters("A", "B"), "options": OPTIONS},
        Team: {"agents": [{"name": "Ada"}]},
        Roster: {"posts": {"retry_limit": "3"}},
        Crew: {"agents": [{"name": "Ada"}]},
    }[model]
    model.objects.create_first(name="Person", owner=mira, **held)
    other = model.objects.create_first(name="Ada", owner=mira, **held)
    for name in DISGUISES:
        with pytest.raises(IntegrityError), transaction.atomic():
            model.objects.create_first(name=name, owner=mira, **held)
        with pytest.raises(IntegrityError), transaction.atomic():
            other.revise(name=name, author=mira, **held)


def test_what_is_called_like_another_since_before_can_still_be_changed(mira):
    Council.objects.create_first(name="Person", owner=mira, agents=agents())
    old = Council.objects.create_first(name="Ada", owner=mira, agents=agents())
    Council.objects.filter(pk=old.pk).update(name=CYRILLIC)
    old.refresh_from_db()
    form = CouncilSubmission({"name": CYRILLIC, **posted("a", trio("A", "B"))}, council=old)
    assert form.is_valid()
    assert old.revise(author=mira, **form.values()).number == 2


def test_no_memory_is_called_so_that_it_looks_like_another():
    memory_review.propose(memory_files.MemoryFile("Person", "", "One."), "mira")
    for name in (ZERO_WIDTH, CYRILLIC, COMBINING):
        with pytest.raises(memory_files.InvalidMemoryFile, match="looks like"):
            memory_review.propose(memory_files.MemoryFile(name, "", "Two."), "mira")


def test_the_owner_of_a_step_is_named_letter_by_letter():
    brief = PlannerBrief("Go.", [PromptOwner("Ada", ""), PromptOwner("Person", "")])
    for name in DISGUISES:
        step = {"action": "Go there.", "owner": name, "tools": [], "needs": []}
        with pytest.raises(ValueError, match="There is no owner"):
            read_plan(json.dumps({"thought": "", "questions": [], "steps": [step]}), brief)
