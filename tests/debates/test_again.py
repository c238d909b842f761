"""A debate is held again: by all that it was asked with, and with draws of its own."""

import re

import pytest
from django.urls import reverse

from debates.models import Debate
from engine.models import NewDocument
from runs.record import redaction
from tests.debates.scenes import decided
from tests.debates.table import QUESTION, Table
from tests.debates.talks import HIRE, NO, early

pytestmark = pytest.mark.django_db
LETTER = NewDocument("Letter", "text", ("She asks for March.",), "0" * 64)


@pytest.fixture
def table(mira):
    asked = {"documents": [LETTER], "most": 40, "rule": "median", "switches": {"challenge": False}}
    table = Table(mira, model="rehearsal/instant", **asked)
    table.become("cancelled")
    return table


def page(client, table):
    return client.get(f"{reverse('debate-new')}?again={table.pk}").content.decode()


def posted(html):
    """What the page would send as it stands."""
    fields = dict(re.findall(r'<input[^>]*? name="([\w-]+)"[^>]*? value="([^"]*)"', html))
    fields |= dict(re.findall(r'<textarea[^>]*? name="([\w-]+)"[^>]*>\n([^<]*)', html))
    return fields


def test_the_page_has_all_that_it_was_asked_with(client, mira, table):
    client.force_login(mira)
    html = page(client, table)
    assert "Held again from" in html
    for text in (QUESTION, HIRE, "Tomás Rey", "Budget and risk.", "Letter"):
        assert text in html
    assert table.debate.seed not in html


def test_what_is_started_from_it_says_from_which_it_is(client, mira, table):
    client.force_login(mira)
    fields = posted(page(client, table)) | {"rule": "median", "view": "perspective"}
    fields |= {f"o{number}-direction": "between" for number in (1, 2, 3)}
    answer = client.post(reverse("debate-new"), fields)
    assert answer.status_code == 302, answer.content.decode()
    later = Debate.objects.exclude(pk=table.pk).get()
    assert (later.earlier, later.question, later.seed != table.debate.seed) == (table.debate, QUESTION, True)
    assert [document.title for document in later.run.documents.all()] == ["Letter"]


def test_somebody_elses_is_not_held_again(client, noor, table):
    client.force_login(noor)
    assert "Held again from" not in page(client, table)


def test_what_was_erased_is_not_held_again_and_its_button_is_gone(client, mira):
    client.force_login(mira)
    table = decided(mira)
    live = reverse("debate-live", args=[table.pk])
    assert "Debate again" in client.get(live).content.decode()
    redaction.redact_run(table.pk, "mira", "Asked for it.")
    assert "Debate again" not in client.get(live).content.decode()
    assert "Held again from" not in page(client, table)


def test_whoever_redacts_one_is_told_of_those_held_again_from_it(client, reviewer, mira):
    table, later = early(mira), early(mira)
    table.become("cancelled")
    Debate.objects.submit(owner=mira, earlier=table.debate, **asked_of(later))
    client.force_login(reviewer)
    assert "Not redacted with it" in client.get(reverse("debate-redact", args=[table.pk])).content.decode()


def ended(owner, verdicts, **more):
    table = Table(owner, **more)
    table.note()
    for seat, verdict in enumerate(verdicts, 1):
        table.say(seat, verdict=verdict, reasoning="For what is known.", why="call")
    table.end("most")
    return table


def test_the_records_lead_to_one_another_and_say_what_stayed(client, mira):
    before = ended(mira, [HIRE, HIRE, HIRE, NO, NO])
    after = ended(mira, [HIRE, HIRE, HIRE, HIRE, NO], earlier=before.debate)
    client.force_login(mira)
    places = [reverse("debate-record", args=[table.pk]) for table in (before, after)]
    pages = [client.get(place).content.decode() for place in places]
    assert places[1] in pages[0]
    assert places[0] in pages[1]
    assert "4 of 5 members that sat there both times ended by the same." in pages[1]


def asked_of(table):
    options = [{"word": "YES"}, {"word": "NO"}]
    members = [{"name": name, "who": "", "model": "rehearsal/instant"} for name in ("Ada", "Ben")]
    return {"question": table.debate.question, "options": options, "members": members}
