"""With the texts of a record ends all that shows it to others."""

import pytest
from django.urls import reverse

from runs.access_log import log_view
from runs.models import AccessGrant, BadgeLink, GrantView, ShareLink
from runs.record.redaction import redact_run
from runs.sharing import badges, links
from runs.sharing.grants import grant_access

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(approved_judgement, mira, noor):
    """Shown to others in every way, and looked at."""
    run = approved_judgement.run
    links.create_link(run, mira, "Ada of the auditors", 14)
    badges.create_badge(mira, 30, "Gate of Ada", run)
    grant_access(run, mira, "noor")
    log_view(run, noor)
    return run


def test_its_links_badges_and_gifts_end_with_it(run):
    redact_run(run.pk, "reviewer", "Asked for.")
    assert not any(rows.objects.filter(ended=None).exists() for rows in (ShareLink, BadgeLink, AccessGrant))


def test_what_was_written_for_them_is_erased(run, page):
    redact_run(run.pk, "reviewer", "Asked for.")
    shown = page.get(reverse("share", args=[run.pk])).content.decode()
    assert "Nobody is shown it by a link." in shown
    assert "Ada" not in shown
    assert (ShareLink.objects.get().for_whom, BadgeLink.objects.get().words) == ("", "")


def test_with_the_names_it_is_forgotten_who_showed_it_and_to_whom(run):
    redact_run(run.pk, "reviewer", "Asked for.", names=True)
    assert (ShareLink.objects.get().by, BadgeLink.objects.get().by) == (None, None)
    assert not AccessGrant.objects.exists()
    assert not GrantView.objects.exists()
