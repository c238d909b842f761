"""What a link shows of a run of each kind, to whom nothing else is shown."""

import html

import pytest
from django.test import Client
from django.urls import reverse

from runs.sharing import links
from tests.contract import MARKER

pytestmark = pytest.mark.django_db


def told_to_guests(ended, mira):
    link = links.create_link(ended, mira, "the auditors", days=14)
    answer = Client().get(reverse("shared", args=[link.secret]))
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def test_a_link_shows_what_it_was_about_and_how_it_ended(ended, mira):
    page = told_to_guests(ended, mira)
    assert MARKER in page
    assert "mira shows you this record until" in page
    assert "{#" not in page


def test_it_shows_no_prompt_no_raw_answer_and_no_way_on(ended, mira):
    page = told_to_guests(ended, mira)
    for call in ended.calls.all():
        for message in call.messages:
            assert message["content"][:80] not in page
        assert not call.answer or call.answer not in page
    assert "auditors" not in page
    assert "0 attempts" not in page
    assert str(ended.pk) not in page
