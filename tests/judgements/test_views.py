import re

import pytest
from asgiref.sync import async_to_sync
from django.test import Client
from django.urls import reverse

from engine import pubsub, run_control
from engine.models import Run
from engine.models.budgets import Budget
from judgements.models import Judgement
from tests.conftest import JAPAN, agents

pytestmark = pytest.mark.django_db
committed = pytest.mark.django_db(transaction=True)  # by threads of their own


def filled(council="", **changes):
    data = {"title": "", "content": JAPAN, "council": council}
    for number, agent in enumerate(agents(), start=1):
        data |= {f"a{number}-{key}": value for key, value in agent.items()}
    return data | changes


def test_the_input_page_starts_with_a_council_and_exactly_three_agents(page, council):
    html = page.get(reverse("new")).content.decode()
    for number, name in enumerate(("Melchior", "Balthasar", "Casper"), start=1):
        assert f'id="a{number}-name"' in html
        assert name in html
    assert 'id="a4-name"' not in html


@committed
def test_starting_a_judgement_leads_to_its_live_page(page):
    answer = page.post(reverse("new"), filled())
    judgement = Judgement.objects.get()
    assert answer["Location"] == reverse("live", args=[judgement.pk])
    assert async_to_sync(pubsub.is_watched)(judgement.pk)  # from now on: its answers stream
    assert (judgement.run.title, judgement.content, judgement.run.status) == (JAPAN, JAPAN, "queued")
    assert [agent.name for agent in judgement.agents.all()] == ["Melchior", "Balthasar", "Casper"]


def test_what_was_typed_is_kept_beside_the_error(page):
    data = filled(**{"content": "", "a2-criteria": "Only on <b>Tuesdays</b>.", "a3-name": "Melchior"})
    html = page.post(reverse("new"), data).content.decode()
    assert "<title>2 things to correct:" in html.replace("\n", "")
    assert "Write what is to be decided. It is empty." in html
    assert "Give agent 3 another name. Agent 1 already has this one." in html
    assert "Only on &lt;b&gt;Tuesdays&lt;/b&gt;." in html
    assert Judgement.objects.count() == 0


def test_line_breaks_of_the_browser_are_those_that_were_typed(page):
    page.post(reverse("new"), filled(content="one\r\ntwo"))
    assert Judgement.objects.get().content == "one\ntwo"


def test_a_council_fills_the_three_agents(page, council):
    html = page.get(reverse("council-agents"), {"council": council.pk}).content.decode()
    assert "Criteria of Casper." in html
    assert "<html" not in html


def test_no_council_leaves_three_empty_agents(page):
    html = page.get(reverse("council-agents"), {"council": ""}).content.decode()
    assert 'id="a3-criteria"' in html
    assert "Criteria of" not in html


def test_a_council_that_is_none_is_no_error(page):
    for council in ("x", "-1", "99999999999999999999", "1e3"):
        assert page.get(reverse("council-agents"), {"council": council}).status_code == 200, council


def test_the_live_page_shows_title_status_and_three_agents(page, judgement):
    html = page.get(reverse("live", args=[judgement.pk])).content.decode()
    for text in (judgement.run.title, "Idle", "Melchior", "Balthasar", "Casper", 'ws-connect="/ws/judgements/'):
        assert text in html


def test_another_users_judgement_does_not_exist(client, noor, judgement):
    client.force_login(noor)
    assert client.get(reverse("live", args=[judgement.pk])).status_code == 404
    assert judgement.run.title not in client.get(reverse("history")).content.decode()


def test_staff_see_every_judgement(client, reviewer, judgement):
    client.force_login(reviewer)
    assert client.get(reverse("live", args=[judgement.pk])).status_code == 200


def test_cancelling_asks_first_and_keeps_what_is_there(page, mira, judgement):
    url = reverse("cancel", args=[judgement.pk])
    assert "There is no decision so far. There will be no verdict." in page.get(url).content.decode()
    answer = page.post(url)
    assert answer["Location"] == reverse("live", args=[judgement.pk])
    run = Run.objects.get()
    assert (run.status, run.cancelled_by) == ("cancelled", mira)
    html = page.get(answer["Location"]).content.decode()
    assert "<strong>Cancelled before round 1</strong> by mira. There is no verdict" in html
    assert "ws-connect" not in html


def test_what_is_over_is_not_asked_about_and_not_cancelled_again(page, judgement, reviewer):
    run_control.cancel(judgement.pk, reviewer)
    for answer in (page.get(reverse("cancel", args=[judgement.pk])), page.post(reverse("cancel", args=[judgement.pk]))):
        assert answer["Location"] == reverse("live", args=[judgement.pk])
    assert Run.objects.get().cancelled_by == reviewer


def test_a_failed_judgement_can_be_retried_and_its_page_stays_connected(page, judgement):
    Run.objects.update(status="failed", ended=judgement.run.created, error={"code": "quota", "message": "Oh."})
    html = page.get(reverse("live", args=[judgement.pk])).content.decode()
    assert 'form="retry">Retry<' in html
    assert "ws-connect" in html
    for _ in range(2):
        answer = page.post(reverse("retry", args=[judgement.pk]))
        assert answer["Location"] == reverse("live", args=[judgement.pk])
    run = Run.objects.get()
    assert (run.status, run.retries) == ("queued", 1)


def test_only_its_owner_and_staff_steer_a_judgement(client, noor, reviewer, judgement):
    client.force_login(noor)
    assert [client.post(reverse(name, args=[judgement.pk])).status_code for name in ("cancel", "retry")] == [404, 404]
    assert client.get(reverse("cancel", args=[judgement.pk])).status_code == 404
    client.force_login(reviewer)
    client.post(reverse("cancel", args=[judgement.pk]))
    assert Run.objects.get().cancelled_by == reviewer


def test_another_site_can_neither_cancel_nor_retry(mira, judgement):
    client = Client(enforce_csrf_checks=True)
    client.force_login(mira)
    assert [client.post(reverse(name, args=[judgement.pk])).status_code for name in ("cancel", "retry")] == [403, 403]


def test_retrying_is_never_a_link(page, judgement):
    assert page.get(reverse("retry", args=[judgement.pk])).status_code == 405


def test_the_history_lists_what_was_decided(page, judgement):
    html = page.get(reverse("history")).content.decode()
    assert reverse("live", args=[judgement.pk]) in html
    assert judgement.run.title in html


def test_an_empty_history_says_what_to_do(page):
    assert "No judgement yet." in page.get(reverse("history")).content.decode()


def test_a_page_of_the_history_that_is_none_is_no_error(page):
    for number in ("-1", "0", "x", "99999999999"):
        assert page.get(reverse("history"), {"page": number}).status_code == 200, number


# ---- models and money --------------------------------------------------------------------------------------


@pytest.fixture
def acme(settings):
    settings.PROVIDERS = {
        "acme": {"base_url": "http://127.0.0.1:9/v1", "api_key": "k", "models": ("big",), "prices": {"*": (1.0, 2.0)}}
    }
    settings.DEFAULT_MODEL = "acme/big"


def test_models_are_suggested_though_their_provider_is_down(page, acme):
    html = page.get(reverse("model-suggestions")).content.decode()
    assert html.count("<option") == 2
    assert 'value="acme/big"' in html


def test_what_it_may_cost_is_said_before_it_starts(page, acme):
    posted = filled(**{f"a{number}-model": "acme/big" for number in (1, 2, 3)})
    html = page.post(reverse("expected-cost"), posted).content.decode()
    assert "9 calls" in html
    assert "up to $0.04" in html
    assert "All agents ask one model, acme/big" in html


def test_a_price_that_nobody_knows_is_said_to_be_unknown(page, acme, settings):
    settings.PROVIDERS["acme"]["prices"] = {}
    posted = filled(**{"a1-model": "acme/big"})
    assert "cost unknown" in page.post(reverse("expected-cost"), posted).content.decode()


def test_a_rehearsal_costs_nothing(page):
    assert "costs nothing" in page.post(reverse("expected-cost"), filled()).content.decode()


def test_a_rehearsal_counts_no_tokens(page):
    assert "tokens" not in page.post(reverse("expected-cost"), filled()).content.decode()


@pytest.mark.parametrize(
    ("models", "said"),
    [
        (("acme/big",) * 3, "all ask one model"),
        (("acme/big", "acme/big", "acme/small"), "two ask one model"),
        (("acme/big", "acme/small", "acme/tiny"), "all of one vendor"),
        (("rehearsal/magi",) * 3, ""),
        (("acme/big", "other/small", "rehearsal/magi"), ""),
    ],
)
def test_who_asks_the_same_is_noted(page, acme, models, said):
    posted = filled(**{f"a{number}-model": model for number, model in enumerate(models, start=1)})
    note = re.search(
        r'<span id="alike"[^>]*>(.*)</span>', page.post(reverse("expected-cost"), posted).content.decode(), re.S
    )
    assert said in note[1]
    assert bool(said) == bool(note[1].strip())


def test_a_title_can_always_be_seen(page):
    page.post(reverse("new"), filled(title="\u200b", content="\u200b\n\n Go. \nNow."))
    assert Run.objects.get().title == "Go."


def test_the_longest_judgement_is_estimated_too(page):
    # encoded for an address it would be three times as long, and refused
    longest = filled(content="決" * 20_000, **{f"a{number}-criteria": "決" * 4_000 for number in (1, 2, 3)})
    assert "9 calls" in page.post(reverse("expected-cost"), longest).content.decode()
    cost = re.search(r'<div class="cost"[^>]*>', page.get(reverse("new")).content.decode())[0]
    assert 'hx-encoding="multipart/form-data"' in cost


def test_a_half_written_page_gets_no_estimate(page):
    assert "calls" not in page.post(reverse("expected-cost"), {"content": "Go."}).content.decode()


def test_too_little_money_is_said_and_what_was_typed_is_kept(page, acme, mira):
    Budget.objects.create(owner=mira, limit=1)
    answer = page.post(reverse("new"), filled(**{"a1-model": "acme/big"}))
    assert answer.status_code == 402
    assert "does not suffice" in answer.content.decode()
    assert JAPAN in answer.content.decode()
    assert not Judgement.objects.exists()


def test_a_rehearsal_is_no_fallback_of_a_model(page, acme):
    posted = filled(**{"a1-model": "acme/big", "a1-fallback": "rehearsal/magi"})
    assert "cannot stand in for one" in page.post(reverse("new"), posted).content.decode()
