"""A look at the rows of a run, while others write."""

import pytest
from django.db.models import F

from engine.models import Run
from runs.live import feed
from tests.contract import EXAMPLES

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(mira, monkeypatch):
    """One that somebody may watch."""
    monkeypatch.setattr(feed, "_allowed", lambda run, watchers: frozenset(watchers))
    return EXAMPLES["check"](mira).run


def test_rows_are_as_new_as_what_was_written_while_they_were_read(run, monkeypatch):
    read = feed.snapshot_of

    def read_late(found):
        Run.objects.filter(pk=run.pk).update(revision=F("revision") + 1)
        return read(found)

    monkeypatch.setattr(feed, "snapshot_of", read_late)
    seen = feed._look(run.pk, ["somebody"], None)
    assert (seen.revision, seen.read_by) == (run.revision, run.revision + 1)


def test_a_run_of_a_procedure_that_is_gone_is_not_there(run, settings):
    settings.PROCEDURES = {name: path for name, path in settings.PROCEDURES.items() if name != "check"}
    assert feed._look(run.pk, ["somebody"], None).allowed == frozenset()
