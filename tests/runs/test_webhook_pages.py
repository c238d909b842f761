"""The library's pages of hooks: made, looked after and taken away by whose they are, and by nobody else."""

from contextlib import suppress

import pytest
from django.urls import reverse

from engine.web.url_policy import AddressRefused
from runs.models import Webhook, WebhookDelivery
from runs.webhooks import messages
from runs.webhooks.forms import webhook_address
from tests.missions.test_proxy import NOT_PUBLIC, ODD
from tests.runs.test_webhooks import ended

pytestmark = pytest.mark.django_db
TYPED = {
    "address": "https://example.org/hook",
    "shape": "standard",
    "kind": "judgement",
    "saved": "Magi",
    "what": "over",
}
INSIDE = ("http://192.168.1.1/", "http://[::ffff:7f00:1]/", "https://127.0.0.1/hook")
WRONG = [*(("address", address) for address in ("ftp://example.org/", "", *INSIDE)), ("kind", "poem")]


@pytest.fixture
def page(client, mira):
    client.force_login(mira)
    return client


def text(answer, status=200):
    assert answer.status_code == status
    return answer.content.decode()


def test_a_hook_is_made_and_its_secret_shown_once(page, mira):
    made = text(page.post(reverse("webhooks"), TYPED))
    hook = Webhook.objects.get()
    assert (hook.owner, hook.saved, hook.what) == (mira, "Magi", "over")
    assert hook.secret.replace("+", "&#x2B;") in made.replace("+", "&#x2B;")
    listed = text(page.get(reverse("webhooks")))
    assert hook.secret not in listed
    assert "Judgements by “Magi”: runs that end" in listed
    assert "none sent" in listed


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_what_is_wrong_is_said_where_it_stands(page, name, value):
    assert f'id="{name}-err"' in text(page.post(reverse("webhooks"), {**TYPED, name: value}), 422)
    assert not Webhook.objects.exists()


def test_a_hook_to_an_inner_address_in_any_form_is_refused_when_it_is_made():
    taken = []
    for host in (*NOT_PUBLIC, *ODD, "①②⑦.⓪.⓪.①", "127。0。0。1", "0X7F.1", "[::1]"):
        written = f"[{host}]" if ":" in host and "[" not in host else host
        with suppress(AddressRefused):
            taken.append(webhook_address(f"https://{written}/"))
    assert taken == []
    assert [webhook_address(f"https://{name}/") for name in ("example.org", "1.1.1.1", "a.b", "fee.d")]


def test_nobody_has_more_than_may(page, mira):
    Webhook.objects.bulk_create(Webhook(owner=mira, address="https://example.org/") for _ in range(20))
    assert "which is the limit" in text(page.post(reverse("webhooks"), TYPED), 409)


def test_its_page_says_how_far_each_message_came_and_sends_it_again(page, mira):
    hook = Webhook.objects.create(owner=mira, address="https://example.org/hook")
    ended(mira)
    messages.fan_out_events()
    WebhookDelivery.objects.update(state="given_up", error="It answered with status 500.")
    assert "1 given up" in text(page.get(reverse("webhooks")))
    shown = text(page.get(reverse("webhook", args=[hook.pk])))
    assert "It answered with status 500." in shown
    assert "Japan" in shown
    one = WebhookDelivery.objects.get()
    text(page.post(reverse("webhook-resend", args=[hook.pk, one.pk])), 302)
    assert WebhookDelivery.objects.get().state == "to_send"


def test_of_a_run_that_its_owner_may_not_see_no_title_is_shown(page, mira, noor):
    hook = Webhook.objects.create(owner=mira, address="https://example.org/hook")
    Webhook.objects.filter(pk=hook.pk).update(owner=noor)
    ended(noor)
    messages.fan_out_events()
    Webhook.objects.filter(pk=hook.pk).update(owner=mira)
    shown = text(page.get(reverse("webhook", args=[hook.pk])))
    assert "A run that you may not see" in shown
    assert "Japan" not in shown


def test_others_hooks_are_answered_as_those_that_are_not_there(page, noor):
    hook = Webhook.objects.create(owner=noor, address="https://secret.example.org/")
    assert "secret.example.org" not in text(page.get(reverse("webhooks")))
    text(page.get(reverse("webhook", args=[hook.pk])), 404)
    text(page.post(reverse("webhook-delete", args=[hook.pk])), 404)
    text(page.post(reverse("webhook-resend", args=[hook.pk, 1])), 404)
    assert Webhook.objects.exists()


def test_it_is_taken_away(page, mira):
    hook = Webhook.objects.create(owner=mira, address="https://example.org/hook")
    text(page.post(reverse("webhook-delete", args=[hook.pk])), 302)
    assert not Webhook.objects.exists()
