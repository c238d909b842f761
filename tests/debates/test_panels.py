"""Panels are kept in versions, on record, and a debate bears the name of the one that it is by."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client

from debates.forms import DebateSubmission
from debates.migrations import _ready_made
from debates.models import Debate, Panel, PanelChange, PanelChanged, PanelSeat, PanelVersion
from debates.rules.outcome import DecisionRule
from engine.audit.full_verification import verify_all
from engine.ledger.entries import AuditEntry
from engine.models import Run
from engine.text.search_terms import label_term
from runs.models import PresetUse, SearchText
from runs.presets import PresetChanged
from tests.conftest import at_once
from tests.databases import tampering

from .rows import NAMES, OPTIONS, member, queued

pytestmark = pytest.mark.django_db

READY_MADE = ["Hiring panel", "Investment committee", "Medical board", "Design review", "Policy board"]


def held(**more: Any) -> dict[str, Any]:
    members = [{"name": name, "who": f"What {name} is.", "fallback": ""} for name in NAMES]
    return {"members": members, "options": OPTIONS, "rule": "median"} | more


@pytest.fixture
def posts(mira: User) -> Panel:
    return Panel.objects.create_first(name="Posts", owner=mira, retention_days=90, **held())


@pytest.fixture
def ready_made(db: None) -> None:
    """As the migration makes them: the tests' database has none of its rows."""
    _ready_made.create_panels(apps, None)
    _ready_made.create_advisory_board(apps, None)


def problems() -> list[str]:
    return [fault.text.partition(" after ")[0] for fault in verify_all().faults]


# ---- the ready-made ones --------------------------------------------------------------------------------------


def test_five_are_there_from_the_start_the_one_for_hiring_first(ready_made: None):
    assert list(Panel.objects.values_list("name", flat=True)) == READY_MADE
    assert [panel.kept_days for panel in Panel.objects.all()] == [180, 365, 365, 365, 365]
    assert {panel.owner for panel in Panel.objects.all()} == {None}


def test_the_board_for_hiring_has_a_methodologist_and_one_who_looks_at_leadership(ready_made: None):
    who = {seat.name: seat.who for seat in Panel.objects.with_content().get(name="Hiring panel").current.seats.all()}
    assert who["Amara Osei"].startswith("A methodologist")
    assert "She is patient and exact" in who["Amara Osei"]
    assert "He looks at leadership" in who["Rajiv Menon"]


def test_each_is_what_a_new_debate_may_be(ready_made: None, mira: User):
    for panel in Panel.objects.with_content():
        version = panel.current
        values = version.values()
        switches = values.pop("switches")
        for seat, asked in zip(version.seats.all(), values["members"], strict=True):
            asked |= {"user": mira.username} if seat.person else {}
        submission = DebateSubmission.of(**values, **switches, question="Shall we?", by=mira)
        assert submission.is_valid(), submission.problems
        debate = Debate.objects.submit(owner=mira, panel=version, **submission.values())
        assert debate.panel_version == version
        assert all(len(seat.who) > 200 for seat in version.seats.all())
        assert all(option.meaning for option in version.options.all())


def test_each_has_another_rule(ready_made: None):
    said = [panel.current.rule for panel in Panel.objects.with_content()]
    assert said == [
        DecisionRule.MAJORITY,
        DecisionRule.MEDIAN,
        DecisionRule.TWO_THIRDS,
        DecisionRule.PLURALITY,
        DecisionRule.UNANIMOUS,
    ]


def test_the_medical_board_advises_and_has_a_seat_for_the_physician_who_treats(ready_made: None):
    version = Panel.objects.with_content().get(name="Medical board").current
    assert (version.number, version.advisory) == (2, True)
    assert [seat.name for seat in version.seats.all() if seat.person] == ["Attending physician"]
    assert not any(panel.current.advisory for panel in Panel.objects.with_content().exclude(name="Medical board"))


def test_where_a_panel_has_a_person_its_fold_is_open_and_offers_whoever_begins(ready_made: None, page: Client):
    board = Panel.objects.get(name="Medical board")
    for html in (
        page.get(f"/debates/new/?panel={board.pk}").content.decode(),
        page.post("/debates/new/", {"do": "take-panel", "panel": board.pk}).content.decode(),
    ):
        seat = html.partition('value="Attending physician"')[2].partition("</fieldset>")[0]
        opened = r"mem__more\"\s+open>"
        assert (len(re.findall(opened, seat)), 'value="mira"' in seat) == (1, True)
        assert len(re.findall(opened, html)) == 1


def test_their_chain_is_intact_from_the_start(ready_made: None):
    assert problems() == []
    assert AuditEntry.objects.filter(run=PanelChange.chain).count() == len(READY_MADE) + 1
    Panel.objects.get(name="Medical board").lock(None)
    assert problems() == []


# ---- versions -------------------------------------------------------------------------------------------------


def test_what_is_held_is_told_as_it_was_written(posts: Panel):
    version = Panel.objects.with_content().get(pk=posts.pk).current
    assert version.held()["members"][0] == {
        **{"name": "Amara Osei", "who": "What Amara Osei is."},
        **{"model": "", "fallback": "", "person": False},
    }
    assert version.held()["options"][1] == {"word": "WAIT", "meaning": "", "direction": "between"}
    assert (version.rule, version.most, version.reply_within, version.free_floor) == ("median", 60, 24, False)


def test_a_new_debate_takes_the_default_model_and_leaves_a_person_open(mira: User, settings: Any):
    settings.DEFAULT_MODEL = "rehearsal/slow"
    seats = [member("Amara Osei", model=""), {"name": "Ilse Brandt", "person": True}]
    panel = Panel.objects.create_first(name="Mixed", owner=mira, **held(members=seats))
    models = [one["model"] for one in panel.current.values()["members"]]
    assert models == ["rehearsal/slow", ""]


def test_nothing_that_differs_makes_no_version(posts: Panel, noor: User):
    assert posts.revise(name="Posts", author=noor, **held()) == posts.current
    assert posts.versions.count() == 1


DIFFERENT: list[dict[str, Any]] = [
    {"rule": "majority"},
    {"most": 40},
    {"reply_within": None},
    {"view": "minutes"},
    {"timekeeper": "rehearsal/instant"},
    {"switches": {"free_floor": True}},
    {"switches": {"challenge": False}},
    {"options": OPTIONS[:2]},
    {"members": held()["members"][::-1]},
]


def test_whatever_differs_makes_one(posts: Panel, noor: User):
    for number, changed in enumerate((one for different in DIFFERENT for one in (different, {})), 2):
        before = posts.current.held()
        version = posts.revise(name="Posts", author=noor, opened=number - 1, **held(**changed))
        assert (version.number, version.author, posts.current) == (number, noor, version), changed
        assert version.held() != before
    assert problems() == []


def test_who_saves_over_a_version_not_seen_is_told(posts: Panel, mira: User):
    posts.revise(name="Posts", author=mira, opened=1, **held(most=40))
    with pytest.raises(PresetChanged):
        posts.revise(name="Posts", author=mira, opened=1, **held(most=80))


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_two_changes_at_once_get_two_numbers(posts: Panel, mira: User):
    def revise(most: int) -> int:
        return Panel.objects.get(pk=posts.pk).revise(name="Posts", author=mira, **held(most=most)).number

    work = [partial(revise, most) for most in (10, 20, 30)]
    assert sorted(at_once(*work, refused=PresetChanged)) == [2, 3, 4]


def test_a_name_is_taken_once(posts: Panel, mira: User):
    with pytest.raises(IntegrityError):
        Panel.objects.create_first(name="Posts", owner=mira, **held())


def test_the_database_refuses_what_is_none(mira: User):
    seats = [{"name": "A", "model": "m", "person": True}]
    for nonsense in ({"rule": "dice"}, {"most": 3}, {"view": "upside down"}, {"members": seats}):
        with pytest.raises((IntegrityError, ValidationError)), transaction.atomic():
            Panel.objects.create_first(name="Odd", owner=mira, **held(**nonsense))


# ---- on record ------------------------------------------------------------------------------------------------


def test_each_change_is_on_record_with_who_made_it(posts: Panel, mira: User, noor: User):
    posts.keep_for(120, noor)
    posts.lock(mira)
    posts.archive(mira)
    posts.bring_back(noor)
    made = [("founded", "mira"), ("kept", "noor"), ("locked", "mira"), ("archived", "mira"), ("brought back", "noor")]
    assert list(posts.changes.values_list("kind", "by")) == made
    assert problems() == []


PAST_THE_PAGES: dict[str, Callable[[Panel], Any]] = {
    "time": lambda posts: Panel.objects.filter(pk=posts.pk).update(retention_days=1),
    "name": lambda posts: Panel.objects.filter(pk=posts.pk).update(name="Other"),
    "rule": lambda posts: PanelVersion.objects.filter(panel=posts).update(rule="plurality"),
    "seat": lambda posts: PanelSeat.objects.filter(version__panel=posts, seat=1).update(who="Says yes."),
    "option": lambda posts: posts.current.options.filter(number=1).update(meaning="Hire anybody."),
    "version put in": lambda posts: PanelVersion.objects.create(panel=posts, number=2, name="Posts"),
    "panel put in": lambda posts: Panel.objects.create(name="Put in"),
    "change taken away": lambda posts: posts.changes.all()._raw_delete("default"),
}


def test_what_is_changed_past_the_pages_is_found(posts: Panel):
    unseen = []
    for what, change in PAST_THE_PAGES.items():
        with transaction.atomic():
            with tampering():
                change(posts)
            unseen += [] if problems() else [what]
            transaction.set_rollback(True)
    assert unseen == []


# ---- debates by a panel -----------------------------------------------------------------------------------------


def asked_by(panel: Panel, **changed: Any) -> dict[str, Any]:
    return {"panel": panel.current, **panel.current.values(), **changed}


def test_a_debate_by_a_panel_bears_its_version_and_is_found_by_it(posts: Panel, noor: User):
    debate = queued(noor, **asked_by(posts, most=20, reply_within=2))
    assert debate.panel_version == posts.current
    assert label_term("panel", posts.pk) in SearchText.objects.get(run=debate.pk).words.split()


def test_a_debate_by_a_panel_is_counted_in_the_library(posts: Panel, noor: User):
    debate = queued(noor, **asked_by(posts))
    counted = list(PresetUse.objects.values_list("run", "shelf", "key", "owner", "rehearsal"))
    assert counted == [(debate.pk, "panel", posts.pk, noor.pk, True)]


def test_with_other_options_rules_or_members_it_does_not(posts: Panel, noor: User):
    members = posts.current.values()["members"]
    members[0]["who"] = "Somebody else."
    others = [{"rule": "majority"}, {"options": OPTIONS[:2]}, {"switches": {"reply": False}}, {"view": "minutes"}]
    for changed in (*others, {"members": members}):
        assert queued(noor, **asked_by(posts, **changed)).panel_version is None, changed


def test_a_person_sits_where_the_panel_has_one_and_nowhere_else(mira: User, noor: User):
    seats = [*held()["members"][:2], {"name": "Rajiv Menon", "who": "The physician.", "person": True}]
    panel = Panel.objects.create_first(name="With a person", owner=mira, **held(members=seats))
    members = panel.current.values()["members"]
    members[2]["user"] = noor
    assert queued(mira, **asked_by(panel, members=members)).panel_version == panel.current
    members = panel.current.values()["members"]
    members[2]["model"] = "rehearsal/instant"
    assert queued(mira, **asked_by(panel, members=members)).panel_version is None


@pytest.mark.parametrize("change", [lambda p, by: p.archive(by), lambda p, by: p.revise(name="P", author=by, **held())])
def test_one_that_is_no_longer_what_the_panel_is_starts_nothing(posts: Panel, mira: User, change: Any):
    asked = asked_by(posts)
    change(posts, mira)
    with pytest.raises(PanelChanged, match="“Posts” was"):
        queued(mira, **asked)
    assert not Debate.objects.exists()
    assert not Run.objects.exists()
