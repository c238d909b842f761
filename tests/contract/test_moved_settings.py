"""Whatever is set or saved otherwise while a run is under way: what is sealed of it was a row, and stays so."""

import asyncio
import re
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.utils import timezone

from debates.models import Debate, Panel
from engine.audit.entries_from_rows import entries_of_chains
from engine.audit.verification import verify_one
from engine.ledger import signing
from engine.llm.errors import Unauthorized
from engine.models import GateRule
from inquiries.models import ROLES, Inquiry, Roster
from judgements.models import Council, Judgement
from missions import presets
from missions.models import Crew, Mission
from plans.models import Plan, Team
from plans.rules.approval_policy import OPEN_READS
from runs import run_actions
from runs.live.feed import snapshot_of
from runs.record.document import record_lines
from tests.conftest import JAPAN, ScriptedModels, agents
from tests.contract import INSTANT, play
from tests.tools.offline import verifier

pytestmark = pytest.mark.django_db

ELSEWHERE = {"base_url": "https://elsewhere.example/v1", "api_key": "a key of another", "prices": {"*": (9.0, 9.0)}}
MOVED = {
    "ALLOWED_HOSTS": ["moved.example"],
    "CSRF_TRUSTED_ORIGINS": ["https://moved.example"],
    "ADDRESS": "https://moved.example",
    "METRICS_TOKEN": "moved",
    "EMAIL_URL": "smtp://moved.example",
    "RETENTION_DAYS": 9,
    "RETENTION_FLOOR_DAYS": 8,
    "PROVIDERS": {"elsewhere": ELSEWHERE},
    "MCP_SERVERS": {"moved": {"command": ["/bin/false"], "timeout": 1.0}},
    "DEFAULT_MODEL": "elsewhere/model",
    "CALL_TIMEOUT": 77.0,
    "CALL_FIRST": 7.0,
    "CALL_SILENCE": 7.0,
    "SERVER_PATIENCE": 7.0,
    "RUN_TIMEOUT": 777.0,
    "ENGINE_LEASE": 9,
    "ENGINE_CONCURRENCY": 3,
    "PUBLISH_TO": "https://moved.example/repository.git",
    "WORKSPACES_FROM": ["/moved"],
    "INQUIRY_RETRIES": 1,
    "INQUIRY_TOOLS": ["figures.today"],
    "SEARCH": None,
    "HOOKS_ALLOWED_HOSTS": ["moved.example"],
    "PAGES_ALLOWED_HOSTS": ["moved.example"],
    "USER_QUEUED": 1,
    "USER_WAITING": 1,
    "USER_SUBMISSIONS": 1,
    "USER_RECEIPTS": 1,
    "USER_TOKENS": 1,
    "USER_EXPORTS": 1,
    "USER_READS": 1,
    "MCP_DOOR": True,
    "COMPAT": True,
    "COMPAT_TEAM": "Moved",
    "PROXIES": ("10.9.9.9",),
    # Django's own
    "TIME_ZONE": "Asia/Tokyo",
    "LANGUAGE_CODE": "de",
    "USE_THOUSAND_SEPARATOR": True,
}
NOT_MOVED = {
    "SECRET_KEY": "signs sessions, and nothing that is kept",
    "SIGNING_KEY": "signs checkpoints and receipts: who changes it is told so by the verification",
    "CHECKPOINT_FILE": "a copy of checkpoints",
    "CHECKPOINT_WEBHOOK": "where checkpoints are told",
    "HOST": "which machine this is: the workspace of a mission stays where it was made",
    "SERVED_AT": "a file that says where this machine serves",
    "MISSIONS_DIR": "where the workspace of a mission is",
}
SETTINGS = Path("magi_site/settings.py")
AT_FIRST = {name: getattr(django_settings, name) for name in MOVED} | {"DEFAULT_MODEL": "another/model"}


def judgement(owner):
    held = {"agents": [{**agent, "model": "", "fallback": ""} for agent in agents()]}
    saved = Council.objects.create_first(name="Saved", owner=owner, **held)
    current = saved.current
    return Judgement.objects.submit(owner=owner, content=JAPAN, agents=current.agents(), council=current), saved, held


def debate(owner):
    members = [{"name": name, "who": "", "fallback": ""} for name in ("Ada", "Ben")]
    held = {"members": members, "options": [{"word": "PLAY", "direction": "for"}, {"word": "REST"}], "most": 6}
    saved = Panel.objects.create_first(name="Saved", owner=owner, **held)
    asked = {**saved.current.values(), "question": JAPAN, "seed": bytes(32)}
    return Debate.objects.submit(owner=owner, panel=saved.current, **asked), saved, held


def plan(owner):
    agent = {"name": "Days", "description": "Knows the day.", "tools": ["figures.today"]}
    held = {"agents": [agent], "policy": OPEN_READS.as_json()}
    saved = Team.objects.create_first(name="Saved", owner=owner, **held)
    asked = {"task": "Say which day it is. Name it.", "team": saved.current, "matter": "Days"}
    return Plan.objects.submit(owner=owner, **asked), saved, held


def inquiry(owner):
    held = {"posts": {"models": dict.fromkeys(ROLES, INSTANT)}, "about": "All."}
    saved = Roster.objects.create_first(name="Saved", owner=owner, **held)
    critics = {"critic_expert": {"kind": "person"}}
    asked = {"question": JAPAN, "models": dict.fromkeys(ROLES, INSTANT), "critics": critics}
    return Inquiry.objects.submit(owner=owner, roster=saved.current, **asked), saved, held


def mission(owner):
    held = {"agents": [{"name": "Ada", "description": "Works.", "tools": ["write_to_file", "finish"]}]}
    saved = Crew.objects.create_first(name="Saved", owner=owner, **held)
    asked = {"goal": "Say hello.", "agents": presets.agent_rows(saved.current, INSTANT)}
    return Mission.objects.submit(owner=owner, crew=saved.current, **asked), saved, held


KINDS = {make.__name__: make for make in (judgement, debate, plan, inquiry, mission)}


def test_every_setting_of_the_environment_is_moved_or_decides_nothing_that_is_sealed():
    found = set(re.findall(r"^([A-Z_]+) = .*\bENVIRONMENT\.", SETTINGS.read_text(), re.M))
    assert found - MOVED.keys() - NOT_MOVED.keys() == set()


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_intact_however_often_everything_around_it_is_changed(kind, mira, settings, monkeypatch):
    settings.DEFAULT_MODEL = INSTANT
    row, saved, held = KINDS[kind](mira)
    told = [facts_of(row.pk)]
    for number, act in enumerate((fails, goes_on, nothing)):
        move(number, settings, mira, saved, held)
        act(row, mira)
        told.append(facts_of(row.pk))
    later = timezone.now() + timedelta(days=4_000)
    monkeypatch.setattr(timezone, "now", lambda: later)
    assert snapshot_of(row.run).row.run.status == "finished"
    assert [str(fault) for chain in (row.pk, saved.changes.model.chain) for fault in verify_one(chain)[2]] == []
    lines = [line.encode() for line in record_lines([row.pk], None)]
    assert list(verifier.verify(lines, signing.verifier_key(), "", Counter())) == []
    assert told == told[:1] * 4


def fails(row, _):
    models = ScriptedModels()
    models.will(INSTANT, *[Unauthorized("The key was refused.")] * 9)
    assert asyncio.run(play(row.pk, models)).error["code"] in ("unauthorized", "member_failed")


def goes_on(row, owner):
    run_actions.retry(snapshot_of(row.run).row, owner)
    assert asyncio.run(play(row.pk)).status == "finished"


def nothing(row, _):
    """What is over is only read."""


def move(number, settings, owner, saved, held):
    """All that is set, and what the run was made from: another name and version, locked, archived; another name of its
    owner; a rule more for gates."""
    for name, value in MOVED.items():
        setattr(settings, name, value if number % 2 == 0 else AT_FIRST[name])
    saved.refresh_from_db()
    saved.revise(name=f"Moved {number}", author=owner, **held)
    (saved.bring_back if saved.archived else saved.archive)(owner)
    (saved.unlock if saved.locked else saved.lock)(owner)
    User.objects.filter(pk=owner.pk).update(username=f"moved-{number}", first_name="Another")
    GateRule.objects.create(kind=f"moved-{number}", who="person", persons=2)


def facts_of(pk):
    """Of what was submitted, as it is told now."""
    [submitted] = entries_of_chains([pk])[pk]["submitted"]
    return submitted.facts
