"""Everybody who walks through `tests/test_walk.py`, and what belongs to the owner, full of words that leak visibly."""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property, partial
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from debates import procedure as debating
from debates.models import Debate, OptionDict, Panel
from engine.models import Gate, GateRule, Letter, McpTool, NewDocument
from engine.models.budgets import Budget
from engine.policy import parse_policy
from inquiries import procedure as asking
from inquiries.models import ROLES, Collection, Inquiry, Roster
from judgements.models import Council, Judgement
from magi_site.groups import REVIEWERS
from magi_site.models import Token
from missions import memory_review
from missions import procedure as working
from missions.memory_files import MemoryFile
from missions.models import Crew, Memory, MemoryVersion, Mission
from office.models import CalendarEntry, Item, OfficeDocument, Person, Request, Task
from plans import procedure as planning
from plans.models import Plan, Team
from runs import reviews, run_actions
from runs.models import BadgeLink, SavedSearch, Webhook
from tests.conftest import ScriptedModels, agents, perform, says

CANARY, SOUGHT = "Quetzalcoatlus", "pterosaur"
"""Both stand in the private texts; the second is searched for, and may stand in answers for that."""


HELD_IN_ADMIN, PLANNED_IN_ADMIN, ASKED_IN_ADMIN = "debates/debate", "plans/plan", "inquiries/inquiry"
WORKED_IN_ADMIN = "missions/mission"
RUNS_IN_ADMIN = ("judgements/judgement", "checking/check", "engine/run")


@dataclass
class EverybodyCast:
    """Everybody, and what belongs to the owner: a private judgement with the canary in all of its texts."""

    users: dict[str, User | None]
    judgement: Judgement
    debate: Debate
    plan: Plan
    inquiry: Inquiry
    mission: Mission
    council: Council
    budget: Budget
    token: Token
    client: Client = field(default_factory=partial(Client, raise_request_exception=False))
    sessions: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    @cached_property
    def rows(self) -> dict[str, Any]:
        """A key of each table that the admin shows."""
        letter = Letter.objects.first() or Letter.objects.write("kept", None, ["a@example.org"], "A", "A")
        return {
            **of_the_office(),
            "engine/letter": letter.pk,
            "engine/mcptool": mcp_tool().pk,
            "magi_site/token": self.token.pk,
            "auth/group": Group.objects.get(name=REVIEWERS).pk,
            "auth/user": self.judgement.run.owner_id,
            "engine/budget": self.budget.pk,
            "engine/gaterule": GateRule.objects.get_or_create(kind="letter")[0].pk,
            "engine/gate": gate_of(self).pk,
            "judgements/council": self.council.pk,
            "inquiries/collection": Collection.objects.get_or_create(name="Posts")[0].pk,
            HELD_IN_ADMIN: self.debate.pk,
            PLANNED_IN_ADMIN: self.plan.pk,
            ASKED_IN_ADMIN: self.inquiry.pk,
            WORKED_IN_ADMIN: self.mission.pk,
            **dict.fromkeys(RUNS_IN_ADMIN, self.judgement.pk),
        }

    @cached_property
    def folders(self) -> dict[str, Any]:
        """The key of what the owner has in each folder of the addresses, but for the judgement and the debate."""
        view, _ = SavedSearch.objects.get_or_create(user=self.users["owner"], name=CANARY)
        kept = {"councils": self.council.pk, "panels": panel().pk, "runs/views": view.pk, "gates": gate_of(self).pk}
        kept |= {"teams": team().pk, "crews": crew().pk, "rosters": roster().pk}
        hook, _ = Webhook.objects.get_or_create(owner=self.users["owner"], address=f"https://example.org/{CANARY}")
        kept |= {"library/outbox": letter(self).pk, "library/webhooks": hook.pk}
        shown = {"by": self.users["owner"], "run_id": self.judgement.pk, "words": CANARY}
        badge = BadgeLink.objects.filter(**shown).first() or BadgeLink.create(**shown, days=1)
        badge.save()
        kept |= {"library/badges": badge.pk}
        kept |= {"library/memories": memory().pk, "library/memories/versions": proposal().pk}
        return kept | dict.fromkeys(("accounts/tokens", "accounts/enter"), self.token.pk)


def letter(cast: "EverybodyCast") -> Letter:
    """One that the owner's judgement wrote."""
    run, to = cast.judgement.pk, ["a@example.org"]
    return Letter.objects.filter(run=run).first() or Letter.objects.write("kept", run, to, CANARY, CANARY)


def panel() -> Panel:
    """One that belongs to nobody."""
    members = [{"name": name, "who": "Somebody."} for name in ("Ada", "Ben")]
    options: list[OptionDict] = [{"word": "OPEN"}, {"word": "CLOSE"}]
    found = Panel.objects.filter(name="Posts").first()
    return found or Panel.objects.create_first(name="Posts", owner=None, members=members, options=options)


def team() -> Team:
    found = Team.objects.filter(name="Posts").first()
    return found or Team.objects.create_first(name="Posts", owner=None, agents=[{"name": "Desk"}])


def crew() -> Crew:
    found = Crew.objects.filter(name="Posts").first()
    return found or Crew.objects.create_first(
        name="Posts", owner=None, agents=[{"name": "Ada", "description": "Works."}]
    )


def roster() -> Roster:
    found = Roster.objects.filter(name="Posts").first()
    return found or Roster.objects.create_first(name="Posts", owner=None, posts={"plan_critic": "person"})


def memory() -> Memory:
    return Memory.objects.filter(name="Posts").first() or proposal().memory


def proposal() -> MemoryVersion:
    """Of a memory that nobody has accepted yet."""
    waits = MemoryVersion.objects.proposed().first()
    return waits or memory_review.propose(MemoryFile("Posts", "About posts.", "They stand."), "somebody")


def gate_of(cast: EverybodyCast) -> Gate:
    asked = {"kind": "letter", "title": CANARY, "text": CANARY, "policy": parse_policy(None)}
    return Gate.objects.first() or Gate.objects.open(None, run=cast.judgement.run, step="letter", **asked)


@pytest.fixture
def cast(council: Council, models: ScriptedModels, transactional_db: None) -> EverybodyCast:
    users: dict[str, User | None] = {"nobody": None}
    for name in ("disabled", "stranger", "owner"):
        users[name] = User.objects.create_user(name)
    for name in ("staff", "reviewer"):
        users[name] = User.objects.create_user(name, is_staff=True)
    users["reviewer"].groups.add(Group.objects.get(name=REVIEWERS))  # type: ignore[union-attr]
    users["root"] = User.objects.create_superuser("root")
    owner = users["owner"]
    token = Token.objects.make(owner, "one")
    judgement, debate, plan, inquiry = _private(owner, models), _held(owner), _planned(owner), _asked(owner)
    budget = Budget.objects.create(owner=owner, limit=10**12)
    made = EverybodyCast(users, judgement, debate, plan, inquiry, _worked(owner), council, budget, token)
    for name, user in users.items():
        if user:
            client = Client()
            client.force_login(user)
            made.sessions[name] = client.cookies[settings.SESSION_COOKIE_NAME].value
            made.tokens[name] = Token.objects.make(user).secret
    User.objects.filter(username="disabled").update(is_active=False)
    return made


def _private(owner: Any, models: ScriptedModels) -> Judgement:
    """Approved, reviewed, and full of the canary."""
    three = [
        {**agent, "criteria": f"{CANARY} {agent['criteria']}"} for agent in agents("openai/a", "openai/b", "openai/c")
    ]
    made = Judgement.objects.submit(owner=owner, title=f"{CANARY} {SOUGHT}", content=f"{CANARY} {SOUGHT}", agents=three)
    for model in ("openai/a", "openai/b", "openai/c"):
        models.will(model, *[says("approve", f"{CANARY} is a {SOUGHT}.")] * 3)
    asyncio.run(perform(made.pk, models))
    reviews.add_review(Judgement.objects.get(pk=made.pk).run, None, f"{CANARY} note")
    return Judgement.objects.select_related("run").get(pk=made.pk)


def _held(owner: Any) -> Debate:
    """Cancelled before its first message, with the canary in what was asked."""
    members = [{"name": name, "who": f"{CANARY} of {name}", "model": "rehearsal/instant"} for name in ("Ada", "Ben")]
    options: list[OptionDict] = [{"word": "YES", "meaning": CANARY}, {"word": "NO"}]
    asked = {"title": f"{CANARY} {SOUGHT}", "question": f"{CANARY} {SOUGHT}", "options": options, "members": members}
    made = debating.submit(owner=owner, **asked)
    run_actions.cancel(made, owner)
    return Debate.objects.select_related("run").get(pk=made.pk)


def _planned(owner: Any) -> Plan:
    """Cancelled before it was planned, with the canary in the task."""
    team = Team.objects.create_first(name="Posts", owner=None, agents=[{"name": "Desk"}]).current
    made = planning.submit(
        owner=owner, task=f"{CANARY} {SOUGHT}", title=f"{CANARY} {SOUGHT}", team=team, matter="posts"
    )
    run_actions.cancel(made, owner)
    return Plan.objects.select_related("run").get(pk=made.pk)


def _asked(owner: Any) -> Inquiry:
    """Cancelled before it was planned, with the canary in the question and in its only source."""
    read = [NewDocument(CANARY, "text", (f"{CANARY} {SOUGHT}",), "0" * 64)]
    models = dict.fromkeys(ROLES, "rehearsal/instant")
    said = f"{CANARY} {SOUGHT}"
    made = asking.submit(owner=owner, question=said, title=said, models=models, documents=read)
    run_actions.cancel(made, owner)
    return Inquiry.objects.select_related("run").get(pk=made.pk)


def _worked(owner: Any) -> Mission:
    """Cancelled before it began, with the canary in the goal and in its only file."""
    said, one = f"{CANARY} {SOUGHT}", {"name": "Ada", "model": "rehearsal/instant", "tools": ["finish"]}
    made = working.submit(owner=owner, goal=said, title=said, agents=[one], files=[(CANARY, said)])
    run_actions.cancel(made, owner)
    return Mission.objects.select_related("run").get(pk=made.pk)


def of_the_office() -> dict[str, Any]:
    """One of each of its rows, in the admin."""
    now = timezone.now()
    needed: dict[type[Model], dict[str, Any]] = {
        Person: {"name": "Ada"},
        Task: {"title": "Paint"},
        CalendarEntry: {"title": "Review", "start": now, "end": now + timedelta(hours=1)},
        OfficeDocument: {"name": "Onboarding"},
        Item: {"name": "Lamp"},
        Request: {"total": 0},
    }
    made = {
        row: row._default_manager.first() or row._default_manager.create(**values) for row, values in needed.items()
    }
    return {row._meta.label_lower.replace(".", "/"): one.pk for row, one in made.items()}


def mcp_tool() -> McpTool:
    values = {"schema": "{}", "definition": "0", "hinted": "reads", "seen": timezone.now()}
    return McpTool.objects.get_or_create(server="others", name="letter", defaults=values)[0]
