"""A replay that is kept as one page."""

import json
import re
from base64 import b64encode
from hashlib import sha256

import pytest
from django.urls import reverse

from runs.procedure.spec import spec_of_run
from runs.record import redaction
from tests.conftest import JAPAN, person, submitted
from tests.contract import EXAMPLES, played
from tests.databases import copied

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # by threads of their own
INLINE = re.compile(r'<(script|style)(?: type="module")?>(.*?)</\1>', re.DOTALL)


@pytest.fixture(scope="module", params=sorted(EXAMPLES))
def _of_a_kind(request):
    return copied(lambda: played(request.param, person("mira")))


@pytest.fixture
def run(_of_a_kind, mira):
    return _of_a_kind()


def test_a_replay_of_any_kind_has_all_in_it_and_a_policy_that_lets_in_no_more(page, run):
    html = page.get(spec_of_run(run).address("replay-file", run.pk)).content.decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    parts = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for _, text in INLINE.findall(html)]
    assert sorted(re.findall(r"'sha256-[^']*'", policy)) == sorted(parts)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert not re.search(r'src="|url\((?!data:|"#)|<link|href="/', html)


def test_nothing_in_it_speaks_of_what_only_the_site_has(page, run):
    html = page.get(spec_of_run(run).address("replay-file", run.pk)).content.decode()
    frames = json.loads(re.search(r'<script id="frames" type="application/json">(.*?)</script>', html)[1])
    shown = html + " ".join(text for some in frames["fragments"].values() for *_, text in some)
    assert not re.search(r"<a\b(?![^>]*\bhref=)", shown)
    assert not re.search("shows\\s+how it ended|Whole text as it was read|Prompts and raw answers", shown)


def test_what_was_erased_is_not_in_the_file(page, approved):
    assert JAPAN in page.get(reverse("replay-file", args=[approved.pk])).content.decode()
    redaction.redact_run(approved.pk, "reviewer", "Asked for.")
    assert JAPAN not in page.get(reverse("replay-file", args=[approved.pk])).content.decode()


def test_it_is_given_to_whoever_may_take_the_record_and_when_all_is_over(page, client, mira, noor, approved):
    assert page.get(reverse("replay-file", args=[approved.pk]))["Content-Disposition"].endswith('.html"')
    assert page.get(reverse("replay-file", args=[submitted(mira).pk])).status_code == 409
    client.force_login(noor)
    assert client.get(reverse("replay-file", args=[approved.pk])).status_code == 404
