"""What people see beside an inquiry: notes on its claims, an error, and where administrators look outside."""

import pytest
from asgiref.sync import sync_to_async
from django.test import override_settings
from django.urls import reverse

from engine.llm.errors import Unauthorized
from engine.models import ToolCall
from inquiries.models import Inquiry
from inquiries.models.queries import OTHERS_SAID
from inquiries.rules.state import NOT_ANSWERED
from inquiries.tools.web import recently_refused
from runs import reviews
from tests.conftest import perform
from tests.inquiries.scenes import going_well, inquiry
from tests.web import WebSite

pytestmark = pytest.mark.django_db(transaction=True)
OUTSIDE = "admin:inquiries_outside"


async def page_of(client, mira, row):
    await sync_to_async(client.force_login)(mira)
    return (await sync_to_async(client.get)(reverse("inquiry-live", args=[row.pk]))).content.decode()


async def test_a_note_that_names_a_claim_stands_beside_it_and_changes_nothing(mira, models, client):
    going_well(models)
    row = await sync_to_async(inquiry)(mira)
    run = await perform(row.pk, models)
    for text in ("Claim 2: The law was changed since.", "claim 99: Nowhere.", "Of no claim."):
        await sync_to_async(reviews.add_review)(run, mira, text)
    page = await page_of(client, mira, row)
    assert ("The law was changed since." in page, "Nowhere." in page, "Of no claim." in page) == (True, False, False)
    assert (await Inquiry.objects.aget(pk=row.pk)).answer == "It may be sold. [claim:2]"


async def test_an_error_is_shown_with_its_sentence_component_and_a_way_to_go_on(mira, models, client):
    going_well(models, researcher=[Unauthorized("test/researcher refused its key.")])
    row = await sync_to_async(inquiry)(mira)
    await perform(row.pk, models)
    page = await page_of(client, mira, row)
    due = (
        NOT_ANSWERED,
        "refused its key",
        f"failed. {OTHERS_SAID} “The researcher",
        "Research 1 · error",
        ">Retry<",
    )
    assert [said for said in due if said not in page] == []
    assert 'class="station__work" data-state="failed"' in page


def test_an_administrator_tries_the_search_and_sees_the_hosts_that_were_refused(admin_client, mira):
    row = inquiry(mira)
    asked = {"run_id": row.pk, "source": "inquiry", "definition": "0" * 64, "effect": "reads", "status": "failed"}
    nothing = {"step": "research.1.0.2", "number": 1, "arguments": '{"address": "http://[::1"}', "error": "No."}
    ToolCall.objects.create(tool="web.read", **asked, **nothing)
    for number in range(2):
        arguments = '{"address": "http://inner.example/x"}'
        more = {"step": "research.1.0.1", "number": number, "arguments": arguments, "error": "It is no public address."}
        ToolCall.objects.create(tool="web.read", **asked, **more)
    assert recently_refused() == [("inner.example", "It is no public address.", 2), ("no address", "No.", 1)]
    with (
        WebSite() as site,
        override_settings(SEARCH={"provider": "searxng", "address": site.address(""), "key": "SECRET"}),
    ):
        page = admin_client.post(reverse(OUTSIDE), {"words": "<i>heat</i> pumps"}).content.decode()
    assert [said in page for said in ("2 hits for", "&lt;i&gt;heat", "inner.example", "SECRET")] == [True] * 3 + [False]
    with override_settings(SEARCH={"provider": "searxng", "address": "http://127.0.0.1:1", "key": ""}):
        assert "did not answer" in admin_client.post(reverse(OUTSIDE), {"words": "heat"}).content.decode()


def test_who_may_not_fill_collections_does_not_see_where_it_looks(client, mira):
    mira.is_staff = True
    mira.save()
    client.force_login(mira)
    assert client.get(reverse(OUTSIDE)).status_code == 403
