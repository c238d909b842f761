"""Retention: texts are kept for as long as their council says, and then redacted; what was decided stays for ever."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import DatabaseError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from debates import human_turns
from engine.audit.full_verification import verify_all
from engine.models import Run, rate_limits
from engine.queue import periodic
from judgements.models import Council, CouncilChange, Judgement
from judgements.spec import JudgementSpec
from judgements.views.councils import CouncilSubmission
from plans import projects
from runs import retention, run_actions
from runs.procedure.spec import specs
from runs.record import redaction
from runs.record.redaction import due_runs, redact_run, redactions_of
from tests.conftest import JAPAN, agents
from tests.databases import tampering
from tests.judgements.open_pages import until

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # by threads of their own


def ended(owner: User, days: float, council: Council | None = None) -> Judgement:
    """A judgement that was cancelled, as if that had been so many days ago."""
    values = {"agents": council.agents(), "council": council.current} if council else {"agents": agents()}
    made = Judgement.objects.submit(owner=owner, content=JAPAN, **values)
    then = timezone.now() - timedelta(days=days)
    run_actions.cancel(made, owner)
    with tampering():
        Run.objects.filter(pk=made.pk).update(created=then, ended=then)
    return made


def pks(found: list[tuple[UUID, str]]) -> set[UUID]:
    return {pk for pk, _ in found}


# ---- which, and what becomes of them ----------------------------------------------------------------------


def test_what_was_kept_for_long_enough_is_due_and_nothing_else(mira: User, council: Council) -> None:
    old = ended(mira, 366, council)
    ended(mira, 364, council)
    Judgement.objects.submit(owner=mira, content=JAPAN, agents=council.agents(), council=council.current)
    assert due_runs(10) == [(old.pk, "Kept for 365 days, as its council says.")]


def test_every_council_has_its_own_time(mira: User, council: Council) -> None:
    other = Council.objects.create_first(name="Quick", agents=council.agents(), owner=mira, retention_days=30)
    young, old = ended(mira, 31, other), ended(mira, 366, council)
    ended(mira, 31, council)
    assert pks(due_runs(10)) == {young.pk, old.pk}
    assert len(due_runs(1)) == 1


def test_without_a_council_the_installation_says_how_long(mira: User, settings: object) -> None:
    settings.RETENTION_DAYS = 200  # type: ignore[attr-defined]
    old = ended(mira, 201)
    ended(mira, 199)
    assert due_runs(10) == [(old.pk, "Kept for 200 days, as this installation says.")]


def test_nothing_is_due_where_texts_are_kept_for_ever(mira: User, council: Council, settings: object) -> None:
    settings.RETENTION_DAYS = 0  # type: ignore[attr-defined]
    council.keep_for(0, by=None)
    ended(mira, 10_000)
    ended(mira, 10_000, council)
    assert due_runs(10) == []


def said(council: Council, *changes: tuple[float, int]) -> None:
    """What the council has said, each so many days ago, instead of what it says."""
    with tampering():
        now = council.changes.last()
        CouncilChange.objects.filter(council=council).delete()
        for days_ago, days in changes:
            now.pk, now.made, now.retention_days = None, timezone.now() - timedelta(days=days_ago), days
            now.save()


def test_a_shorter_time_does_not_touch_what_was_judged_before(mira: User, council: Council) -> None:
    before = ended(mira, 200, council)
    council.keep_for(1, by=mira)
    assert due_runs(10) == []
    said(council, (400, 365), (100, 1))
    after = ended(mira, 99, council)
    assert pks(due_runs(10)) == {after.pk}
    said(council, (400, 199), (100, 1))
    assert pks(due_runs(10)) == {before.pk, after.pk}


def test_a_longer_time_holds_for_what_was_judged_before(mira: User, council: Council) -> None:
    ended(mira, 400, council)
    council.keep_for(730, by=mira)
    assert due_runs(10) == []
    council.keep_for(30, by=mira)  # what was promised in between holds, too
    assert due_runs(10) == []


@pytest.mark.parametrize(
    ("changes", "spans"),
    [
        ([(1, 30)], [(None, None, 30)]),
        ([(1, 30), (2, 60)], [(None, None, 60)]),
        ([(1, 60), (2, 30)], [(None, 2, 60), (2, None, 30)]),
        ([(1, 60), (2, 30), (3, 40)], [(None, 2, 60), (2, None, 40)]),
        ([(1, 60), (2, 0), (3, 40)], [(None, 3, 0), (3, None, 40)]),
        ([(1, 90), (2, 60), (3, 30)], [(None, 2, 90), (2, 3, 60), (3, None, 30)]),
    ],
)
def test_what_a_council_said_holds_from_when_to_when(changes: list[Any], spans: list[Any]) -> None:
    assert retention.retention_spans(changes) == spans


def test_nothing_is_kept_shorter_than_the_floor(mira: User, council: Council, settings: object) -> None:
    settings.RETENTION_FLOOR_DAYS = 400  # type: ignore[attr-defined]
    old = ended(mira, 401, council)
    ended(mira, 399, council)
    assert due_runs(10) == [(old.pk, "Kept for 400 days, as this installation says.")]


def test_each_change_is_on_record_and_stays(mira: User, council: Council) -> None:
    council.keep_for(30, by=mira)
    council.keep_for(30, by=mira)
    assert list(council.changes.values_list("retention_days", "by")) == [(365, ""), (30, "mira")]
    for forbidden in (council.changes.all().delete, lambda: council.changes.update(retention_days=1)):
        with pytest.raises(DatabaseError, match="evidence is only added"), transaction.atomic():
            forbidden()


def test_the_chore_redacts_what_is_due_and_says_so(mira: User, council: Council) -> None:
    old, young = ended(mira, 366, council), ended(mira, 3, council)
    assert redaction.redact_due() is False
    (said,) = redactions_of(old.pk)
    assert (said.by, said.reason) == ("retention", "Kept for 365 days, as its council says.")
    assert (Judgement.objects.get(pk=old.pk).content, Judgement.objects.get(pk=young.pk).content) == ("", JAPAN)
    assert due_runs(10) == []


def test_a_batch_is_small_and_says_that_there_is_more(mira: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "REDACT_BATCH", 2)
    for _ in range(5):
        ended(mira, 366)
    assert [redaction.redact_due() for _ in range(3)] == [True, True, False]
    assert not Run.objects.filter(redacted=None).exists()


def test_what_another_engine_redacted_meanwhile_is_left_alone(mira: User) -> None:
    made = ended(mira, 366)
    assert redact_run(made.pk, "retention", "First.", once=True) is True
    assert redact_run(made.pk, "retention", "Second.", once=True) is False
    assert [one.reason for one in redactions_of(made.pk)] == ["First."]


def test_the_command_line_tells_and_does_it(mira: User, capsys: pytest.CaptureFixture[str]) -> None:
    made = ended(mira, 366)
    call_command("redact", due=True, dry_run=True)
    assert f"{made.pk}: Kept for 365 days" in capsys.readouterr().out
    assert Run.objects.get().redacted is None
    call_command("redact", due=True)
    assert "1 redacted." in capsys.readouterr().out
    assert Run.objects.get().redacted


# ---- chores of an engine ----------------------------------------------------------------------------------

done: list[str] = []


def fails() -> bool:
    raise RuntimeError("The disk is full.")


def works() -> bool:
    done.append("a piece")
    return len(done) < 3


@committed
async def test_chores_are_done_to_their_end_and_a_failure_is_logged(
    settings: object, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(JudgementSpec, "chores", (fails, works))
    monkeypatch.setattr(periodic, "FIRST_DELAY", 0)
    monkeypatch.setattr(periodic, "PAUSE_BETWEEN_CHORES", 0)
    done.clear()
    keeping = asyncio.create_task(periodic.run_periodically())
    await until(lambda: len(done) >= 3)
    keeping.cancel()
    assert "could not be done; trying again in an hour." in caplog.text


def test_the_chores_of_this_site_can_be_found() -> None:
    shared = [rate_limits.delete_expired, redaction.redact_due, human_turns.skip_disabled_members]
    assert [one for one in periodic.all_chores() if one in shared] == shared
    assert projects.erase_deleted_projects in periodic.all_chores()


# ---- words ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "words"),
    [
        (0, "for ever"),
        (1, "for 1 day, shorter than six months"),
        (182, "for 182 days, shorter than six months"),
        (183, "for 183 days"),
        (3650, "for 3,650 days"),
    ],
)
def test_how_long_is_said_in_words(days: int, words: str) -> None:
    assert retention.format_days(days) == words


# ---- pages ------------------------------------------------------------------------------------------------


def posted(council: Council, **changes: str) -> dict[str, str]:
    name, three = council.current.as_saved()
    fields = {"name": name, "version": str(council.current.number), "retention_days": "365"}
    for number, agent in enumerate(three, start=1):
        fields |= {f"a{number}-{key}": value for key, value in agent.items()}
    return fields | changes


@pytest.fixture
def own(council: Council, mira: User) -> Council:
    Council.objects.filter(pk=council.pk).update(owner=mira)
    return Council.objects.get(pk=council.pk)


def test_its_page_says_how_long_and_its_form_changes_it_without_a_version(page: Client, own: Council) -> None:
    assert "are kept for 365 days." in page.get(reverse("council", args=[own.pk])).content.decode()
    answer = page.post(reverse("council-edit", args=[own.pk]), posted(own, retention_days="730"), follow=True)
    assert "Texts are kept for 730 days." in answer.content.decode()
    own.refresh_from_db()
    assert (own.retention_days, own.current.number) == (730, 1)


def test_less_than_six_months_needs_a_tick_and_is_said(page: Client, own: Council) -> None:
    address = reverse("council-edit", args=[own.pk])
    html = page.post(address, posted(own, retention_days="90")).content.decode()
    assert "Tick it, or keep the texts for at least 183 days." in html
    assert Council.objects.get(pk=own.pk).retention_days == 365
    html = page.post(address, posted(own, retention_days="90", short="on"), follow=True).content.decode()
    assert "are kept for 90 days, shorter than six months." in html
    assert "EU AI Act" in html
    assert "checked" in page.get(address).content.decode()


def test_an_empty_field_is_for_ever_and_a_page_without_it_changes_nothing(page: Client, own: Council) -> None:
    address = reverse("council-edit", args=[own.pk])
    fields = posted(own)
    del fields["retention_days"]
    page.post(address, fields)
    assert Council.objects.get(pk=own.pk).retention_days == 365
    assert "kept for ever" in page.post(address, posted(own, retention_days=""), follow=True).content.decode()
    assert Council.objects.get(pk=own.pk).retention_days == 0


def test_what_is_no_number_of_days_is_said(page: Client, own: Council) -> None:
    for wrong in ("-1", "soon", "36501", "1.5"):
        html = page.post(reverse("council-edit", args=[own.pk]), posted(own, retention_days=wrong)).content.decode()
        assert "days, or nothing to keep them for ever." in html, wrong
        assert '<a href="#retention_days">Days that texts are kept</a>' in html, wrong
    assert Council.objects.get(pk=own.pk).retention_days == 365


def test_who_may_not_edit_changes_nothing(page: Client, council: Council) -> None:
    answer = page.post(reverse("council-edit", args=[council.pk]), posted(council, retention_days="730"))
    assert answer.status_code == 403


def test_the_page_says_who_changed_how_long_and_from_what(page: Client, own: Council) -> None:
    page.post(reverse("council-edit", args=[own.pk]), posted(own, retention_days="200"))
    html = page.get(reverse("council", args=[own.pk])).content.decode()
    for text in ("Texts are kept for 200 days", "by mira", "Before: for 365 days.", "A shorter one applies to those"):
        assert text in html


def test_an_owner_goes_no_lower_than_the_floor(page: Client, own: Council, settings: object) -> None:
    settings.RETENTION_FLOOR_DAYS = 400  # type: ignore[attr-defined]
    assert "are kept for 400 days" in page.get(reverse("council", args=[own.pk])).content.decode()
    html = page.post(reverse("council-edit", args=[own.pk]), posted(own, retention_days="399")).content.decode()
    assert "Write at least 400 days, which this installation asks for, or nothing." in html
    page.post(reverse("council-edit", args=[own.pk]), posted(own, retention_days=""))
    assert Council.objects.get(pk=own.pk).retention_days == 0


def test_a_copy_keeps_as_long_as_its_original(page: Client, council: Council) -> None:
    council.keep_for(400, by=None)
    assert 'value="400"' in page.get(f"{reverse('council-new')}?from={council.pk}").content.decode()


def test_a_new_council_keeps_texts_for_a_year() -> None:
    assert CouncilSubmission().own["retention_days"].value() == 365


def test_the_input_page_says_how_long_for_the_chosen_council(page: Client, council: Council) -> None:
    council.keep_for(90, by=None)
    said = "Every prompt and answer is kept for 90 days, shorter than six months."
    assert said in page.get(f"{reverse('new')}?council={council.pk}").content.decode()
    agents_of = page.get(reverse("council-agents"), {"council": council.pk}).content.decode()
    assert said in agents_of
    assert 'hx-swap-oob="true"' in agents_of


def test_the_record_verifies_after_its_time(mira: User) -> None:
    made = Judgement.objects.submit(owner=mira, content=JAPAN, agents=agents())
    run_actions.cancel(made, mira)
    redact_run(made.pk, "retention", retention.reason(365, "this installation"))
    assert verify_all().faults == []


def test_looking_for_what_is_due_asks_once_for_each_number_of_days(
    mira: User, council: Council, django_assert_num_queries: object
) -> None:
    ended(mira, 366, council)
    other_kinds, with_saved_sets = len(specs()) - 1, 4  # panels, teams, crews, rosters
    with django_assert_num_queries(3 + other_kinds + with_saved_sets):  # type: ignore[operator]
        due_runs(100)
