"""What the database itself refuses to do to the rows of debates, whoever asks."""

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from debates.models import Debate, DebateTurn, FirstVerdict, MessagePoint, Panel, PanelVersion, SteeringAction
from debates.rules.state import TurnReason
from engine.models import ModelCall
from tests.conftest import only_on
from tests.databases import kept_for_a_module
from tests.engine.guarded import (
    changed,
    columns_of,
    deleted,
    guards_of,
    not_only_erased,
    redact,
    replaced,
    taking,
    texts_held,
)

from .rows import OPTIONS, queued, say

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]

GUARDS = guards_of("debates")

MODELS = {model._meta.db_table: model for model in apps.get_app_config("debates").get_models()}


def in_every_table() -> Debate:
    """With a row of every table, by a panel."""
    mira, noor = (User.objects.create_user(name) for name in ("mira", "noor"))
    members = [{"name": name, "who": f"What {name} is."} for name in ("Amara Osei", "Ilse Brandt")]
    panel = Panel.objects.create_first(name="Posts", owner=mira, members=members, options=OPTIONS).current
    made = queued(mira, word="dice", panel=panel, **panel.values())
    said = say(made, 1, "HIRE", content="I would.", artifact='{"title": "T"}', by=noor)
    MessagePoint.objects.create(message=said, number=1, claim="She led ten.", side="for", option="HIRE")
    call = ModelCall.objects.create(run=made.run, step="first", attempt=1, deadline=timezone.now())
    alone = {"abstained": True, "confidence": 50, "reasoning": "I cannot say.", "call": call}
    FirstVerdict.objects.create(member=made.members.get(seat=1), **alone)
    SteeringAction.objects.create(debate=made, number=1, by=noor, by_name="noor", act="close", text="Enough.")
    return made


kept = kept_for_a_module(in_every_table)


@pytest.fixture
def debate(kept: Debate) -> Debate:
    return Debate.objects.get(pk=kept.pk)


def test_no_row_is_deleted(debate: Debate):
    assert deleted(GUARDS, MODELS) == []


def test_what_never_changes_is_refused_even_when_redacted(debate: Debate):
    redact(debate)
    assert changed(GUARDS, MODELS) == []


def test_a_text_goes_once_the_redaction_is_recorded_and_is_never_replaced(debate: Debate):
    held = texts_held(GUARDS, MODELS)
    assert held
    assert taking("", held) == []
    redact(debate)
    assert not_only_erased(columns_of(GUARDS, MODELS, "erased")) == []


@only_on("sqlite")  # PostgreSQL knows no REPLACE
def test_no_row_takes_the_place_of_another(debate: Debate):
    assert replaced(GUARDS, MODELS) == []


def test_what_a_deleted_account_leaves_may_go(debate: Debate):
    for name in ("noor", "mira"):
        User.objects.get(username=name).delete()
    assert SteeringAction.objects.get().by is None
    assert PanelVersion.objects.get().author is None


def test_one_member_at_a_time_has_the_floor(debate: Debate):
    known = {"debate": debate, "member": debate.members.get(seat=2)}
    DebateTurn.objects.create(number=2, why=TurnReason.CALL, **known)
    with pytest.raises(IntegrityError, match="debate"), transaction.atomic():
        DebateTurn.objects.create(number=3, why=TurnReason.CALL, **known)
    DebateTurn.objects.create(number=3, why=TurnReason.CLOSING, **known)
