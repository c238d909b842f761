"""Messages about runs to the servers of others: to whom, in which words, and what becomes of them where they fail."""

import asyncio
import json
from datetime import timedelta
from email.header import decode_header, make_header
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone
from standardwebhooks.webhooks import WebhookVerificationError

from engine.headers import header_complaint
from engine.models import Run, RunEvent, RunEventType
from engine.text.invisible_chars import single_line
from judgements.models import Judgement
from runs import run_actions
from runs.models import Webhook, WebhookDelivery
from runs.models.webhooks import create_deliveries, deliver_to
from runs.webhooks import delivery, formats, messages
from tests.acceptance.site import free_port
from tests.callers import ApiCaller, fields, problem
from tests.conftest import agents
from tests.engine.test_headers import ENCODED_WORDS
from tests.receiver import Receiver, verified

State = WebhookDelivery.State
SCOPES = ("submit", "steer", "webhooks")


@pytest.fixture
def receiver(settings):
    with Receiver() as receiver:
        settings.HOOKS_ALLOWED_HOSTS = [receiver.place]
        yield receiver


def ended(owner, **more):
    """A judgement that was cancelled."""
    asked = {"title": "Japan", "content": "I am going to travel.", "agents": agents()} | more
    made = Judgement.objects.submit(owner=owner, **asked)
    run_actions.cancel(made, owner)
    return Run.objects.get(pk=made.pk)


def hook_of(owner, receiver, path="/ok", **more):
    return Webhook.objects.create(owner=owner, address=receiver.address(path), **more)


def send_all(times=1):
    async def look():
        sender = delivery.WebhookSender()
        for _ in range(times):
            await sender.look()
            await sender.finish()

    for _ in range(times):
        asyncio.run(look())


def hurry():
    """As if all pauses were over."""
    WebhookDelivery.objects.under_way().update(due=timezone.now() - timedelta(seconds=1))


# ---- to whom --------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_what_happens_is_written_down_with_it(mira):
    run = ended(mira)
    assert list(RunEvent.objects.values_list("run", "what")) == [(run.pk, RunEventType.OVER)]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, 1),
        ({"kind": "judgement"}, 1),
        ({"kind": "debate"}, 0),
        ({"what": "asks"}, 0),
        ({"saved": "Magi"}, 1),
        ({"saved": "Others"}, 0),
        ({"made": timezone.now() + timedelta(days=1)}, 0),
    ],
)
def test_a_hook_is_told_of_what_it_asks_for(mira, council, asked, told):
    Webhook.objects.create(owner=mira, address="https://example.org/", **asked)
    values = {"agents": council.agents(), "council": council.current}
    made = Judgement.objects.submit(owner=mira, title="Japan", content="Japan", **values)
    run_actions.cancel(made, mira)
    messages.fan_out_events()
    assert (WebhookDelivery.objects.count(), RunEvent.objects.count()) == (told, 0)


@pytest.mark.django_db
def test_nobody_is_told_of_what_they_may_not_see(mira, noor):
    Webhook.objects.create(owner=noor, address="https://example.org/")
    ended(mira)
    messages.fan_out_events()
    assert not WebhookDelivery.objects.exists()
    noor.user_permissions.add(Permission.objects.get(codename="view_run"))
    ended(mira)
    messages.fan_out_events()
    delivery = WebhookDelivery.objects.select_related("hook__owner", "run").get()
    type(noor).objects.filter(pk=noor.pk).update(is_active=False)
    assert (
        messages.delivery_message(WebhookDelivery.objects.select_related("hook__owner", "run").get(pk=delivery.pk))
        is None
    )


@pytest.mark.django_db
def test_of_two_that_spread_the_same_one_does(mira):
    hook = Webhook.objects.create(owner=mira, address="https://example.org/")
    ended(mira)
    happenings = list(RunEvent.objects.all())
    for _ in range(2):
        create_deliveries(happenings, [deliver_to(hook, one) for one in happenings])
    assert WebhookDelivery.objects.count() == 1


# ---- how they fare --------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_a_message_is_signed_and_says_what_came_of_it(mira, receiver):
    hook, run = hook_of(mira, receiver), ended(mira)
    send_all()
    [came] = receiver.came
    said = verified(came, hook.secret)
    assert (said["type"], said["data"]["id"], said["data"]["status"]) == ("run.over", str(run.pk), "cancelled")
    assert (said["data"]["title"], said["data"]["outcome"]) == ("Japan", None)
    assert WebhookDelivery.objects.get().state == State.SENT


@pytest.mark.django_db(transaction=True)
def test_what_fails_is_sent_again_under_the_same_id_until_it_arrives(mira, receiver):
    hook_of(mira, receiver, "/500/2")
    ended(mira)
    for _ in range(3):
        send_all()
        hurry()
    one = WebhookDelivery.objects.get()
    assert (one.state, one.attempts, one.status, receiver.tried["/500/2"]) == (State.SENT, 3, 200, 3)
    assert [came["headers"]["webhook-id"] for came in receiver.came] == [one.message_id]


@pytest.mark.django_db(transaction=True)
def test_pauses_grow_to_two_hours_and_end_after_a_day(mira, receiver):
    hook_of(mira, receiver, "/500/99")
    ended(mira)
    send_all()
    pauses = []
    for _ in range(9):
        one = WebhookDelivery.objects.get()
        pauses.append((one.due - timezone.now()).total_seconds())
        hurry()
        send_all()
    assert [round(pause, -1) for pause in pauses[:4]] == [0, 10, 40, 130]
    assert max(pauses) <= 7200
    WebhookDelivery.objects.update(until=timezone.now())
    hurry()
    send_all()
    one = WebhookDelivery.objects.get()
    assert (one.state, one.error) == (State.GIVEN_UP, "It answered with status 500.")
    assert one.resend()
    assert WebhookDelivery.objects.get().until > timezone.now() + timedelta(hours=23)


@pytest.mark.django_db(transaction=True)
def test_a_redirect_inside_and_an_address_inside_reach_nothing(mira, receiver, settings):
    hook_of(mira, receiver, "/inside")
    ended(mira)
    send_all()
    assert "redirects" in WebhookDelivery.objects.get().error
    settings.HOOKS_ALLOWED_HOSTS = []
    for address in ("http://127.0.0.1/", "http://[::ffff:7f00:1]/", "http://localhost/", "http://0x7f000001/"):
        Webhook.objects.update(address=address)
        hurry()
        send_all()
        assert WebhookDelivery.objects.get().state == State.TO_SEND
        assert (
            "not public" in WebhookDelivery.objects.get().error
            or "Nothing answers" in WebhookDelivery.objects.get().error
        )
    assert receiver.inside == []


@pytest.mark.django_db(transaction=True)
def test_one_that_is_slow_or_down_holds_up_no_other(mira, receiver, settings, monkeypatch):
    monkeypatch.setattr(delivery, "ANSWER_WITHIN", 0.5)
    closed = free_port()
    settings.HOOKS_ALLOWED_HOSTS = [receiver.place, f"127.0.0.1:{closed}"]
    for address in (receiver.address("/slow"), f"http://127.0.0.1:{closed}/", receiver.address("/large")):
        Webhook.objects.create(owner=mira, address=address)
    ended(mira)
    send_all()
    by_address = {one.hook.address.rpartition("/")[2]: one for one in WebhookDelivery.objects.select_related("hook")}
    assert by_address["large"].state == State.SENT
    assert "did not answer within" in by_address["slow"].error
    assert "Nothing answers" in by_address[""].error


@pytest.mark.django_db(transaction=True)
def test_many_slow_ones_of_one_person_hold_up_nobody_elses(mira, noor, receiver, monkeypatch):
    for name, value in {"ANSWER_WITHIN": 0.5, "SEND_BATCH": 2, "BATCH_PER_USER": 1}.items():
        monkeypatch.setattr(delivery, name, value)
    for path in ("/slow", "/slow", "/slow"):
        hook_of(mira, receiver, path)
    hook_of(noor, receiver)
    for owner in (mira, noor):
        ended(owner)
    send_all()
    assert [one["path"] for one in receiver.came] == ["/ok"]


@pytest.mark.django_db(transaction=True)
def test_of_a_kind_that_is_gone_nobody_is_told_and_nothing_is_tried_for_ever(mira, receiver):
    run = Run.objects.create(procedure="gone", owner=mira, status=Run.Status.CANCELLED)
    happening = RunEvent(pk=1, run=run, what=RunEventType.OVER, made=timezone.now())
    deliver_to(hook_of(mira, receiver), happening).save()
    send_all()
    assert (WebhookDelivery.objects.get().state, receiver.came) == (State.GIVEN_UP, [])


@pytest.mark.django_db(transaction=True)
def test_of_all_that_misbehave_none_loses_a_message_and_each_gets_it_once_by_its_id(
    mira, receiver, settings, monkeypatch
):
    monkeypatch.setattr(delivery, "ANSWER_WITHIN", 0.5)
    port = free_port()
    settings.HOOKS_ALLOWED_HOSTS = [receiver.place, f"127.0.0.1:{port}"]
    hooks = [hook_of(mira, receiver, path) for path in ("/slow/3", "/500/3", "/inside/3")]
    hooks.append(Webhook.objects.create(owner=mira, address=f"http://127.0.0.1:{port}/down"))
    for _ in range(4):
        ended(mira)
    send_all(2)
    assert not WebhookDelivery.objects.filter(hook=hooks[-1], state=State.SENT).exists()
    with Receiver(port) as up:
        for _ in range(4):
            hurry()
            send_all(2)
        came = [*receiver.came, *up.came]
    sent = WebhookDelivery.objects.values_list("message_id", "state")
    assert {one["headers"]["webhook-id"] for one in came} == {pk for pk, _ in sent}
    assert [state for _, state in sent] == [State.SENT] * 16
    assert receiver.inside == up.inside == []


@pytest.mark.django_db(transaction=True)
def test_what_was_changed_on_its_way_is_not_taken(mira, receiver):
    hook = hook_of(mira, receiver)
    ended(mira)
    send_all()
    [came] = receiver.came
    with pytest.raises(WebhookVerificationError):
        verified({**came, "body": came["body"].replace(b"Japan", b"China")}, hook.secret)
    with pytest.raises(WebhookVerificationError):
        verified(came, Webhook(owner=mira).secret)


@pytest.mark.django_db(transaction=True)
def test_whoever_is_gone_is_not_asked_again(mira, receiver):
    hook_of(mira, receiver, "/gone")
    ended(mira)
    send_all()
    assert WebhookDelivery.objects.get().state == State.GIVEN_UP


@pytest.mark.django_db
def test_what_somebody_took_and_never_brought_back_is_due_again(mira):
    Webhook.objects.create(owner=mira, address="https://example.org/")
    ended(mira)
    messages.fan_out_events()
    first = WebhookDelivery.objects.claim_due()
    assert WebhookDelivery.objects.claim_due() is None
    WebhookDelivery.objects.update(taken=timezone.now() - timedelta(minutes=3))
    second = WebhookDelivery.objects.claim_due()
    assert (second.pk, second.message_id, second.attempts) == (first.pk, first.message_id, 2)
    assert not first.close(State.SENT, 200)  # who was slow changes nothing any more


# ---- in the words of chats ------------------------------------------------------------------------------------

MESSAGE = {"data": {"said": "Approved", "title": "<b>*Move* | é", "url": "https://host/judgements/1/"}}


def body(shape):
    return json.loads(formats.PAYLOAD_FORMATS[shape](MESSAGE)[0])


def test_chats_get_a_line_in_which_nothing_of_the_title_is_a_mark():
    assert body("slack")["text"] == "*Approved* <https://host/judgements/1/|&lt;b&gt;*Move* / é>"
    assert body("mattermost")["text"] == r"**Approved** [\<b\>\*Move\* \| é](https://host/judgements/1/)"
    card = body("teams")["attachments"][0]["content"]
    assert (card["type"], card["actions"][0]["url"]) == ("AdaptiveCard", "https://host/judgements/1/")
    text, headers = formats.PAYLOAD_FORMATS["ntfy"](MESSAGE)
    assert (text.decode(), headers["Title"], headers["Click"]) == (
        "<b>*Move* | é",
        "Approved",
        "https://host/judgements/1/",
    )


def test_an_outcome_is_no_header_that_a_server_of_push_messages_decodes():
    for said in (*ENCODED_WORDS, "Two\nlines", "Grüße", "日本 =?"):
        text, headers = formats.ntfy_payload({"data": MESSAGE["data"] | {"said": said}})
        title = headers["Title"]
        shown = str(make_header(decode_header(title)))
        if header_complaint(said) and "\n" not in said:
            assert (title, text.decode()) == ("Outcome of a run", f"{said}\n{MESSAGE['data']['title']}")
        else:
            assert (shown, title.isprintable(), text.decode()) == (single_line(said), True, MESSAGE["data"]["title"])


# ---- the calls ------------------------------------------------------------------------------------------------


@pytest.fixture
def caller(mira):
    return ApiCaller(mira, scopes=SCOPES)


@pytest.mark.django_db
def test_a_hook_is_made_listed_and_taken_away(caller, mira):
    made = caller.post("/webhooks", {"address": "https://example.org/hook", "kind": "judgement"})
    assert made.status_code == 201
    content = made.json()
    assert content["secret"] == Webhook.objects.get().secret
    listed = caller.get("/webhooks").json()["results"]
    assert [one["id"] for one in listed] == [content["id"]]
    assert "secret" not in listed[0]
    assert caller.client.delete(f"/api/v1/webhooks/{content['id']}").status_code == 204
    assert not Webhook.objects.exists()


@pytest.mark.django_db
def test_messages_are_listed_and_sent_once_more(caller, mira, noor):
    pk = caller.post("/webhooks", {"address": "https://example.org/hook"}).json()["id"]
    ended(mira)
    messages.fan_out_events()
    WebhookDelivery.objects.update(state=State.GIVEN_UP)
    [one] = caller.get(f"/webhooks/{pk}/deliveries").json()["results"]
    again = caller.post(f"/webhooks/{pk}/deliveries/{one['id']}/resend", {}).json()
    assert (one["state"], again["state"], again["message_id"]) == ("given_up", "to_send", one["message_id"])
    WebhookDelivery.objects.claim_due()
    problem(caller.post(f"/webhooks/{pk}/deliveries/{one['id']}/resend", {}), 409)
    others = ApiCaller(noor, scopes=SCOPES)
    problem(others.get(f"/webhooks/{pk}/deliveries"), 404)
    problem(others.post(f"/webhooks/{pk}/deliveries/{one['id']}/resend", {}), 404)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ({"address": "ftp://example.org/"}, "address"),
        ({"address": "https://me:you@example.org/"}, "address"),
        ({"address": "https://example.org:8443/"}, "address"),
        ({"address": "https://example.org/", "kind": "poem"}, "kind"),
        ({"address": "https://example.org/", "shape": "pigeon"}, "shape"),
        ({"address": "https://example.org/", "run": str(uuid4())}, "run"),
        ({"address": "https://example.org/", "run": "x"}, "run"),
        ({"address": "https://example.org/", "saved": "x" * 101}, "saved"),
    ],
)
def test_what_is_wrong_with_a_hook_is_named(caller, asked, path):
    assert path in fields(caller.post("/webhooks", asked))
    assert not Webhook.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["https://me:you@example.org/", "https://example.org:8443/", "https://a b/"])
def test_no_address_of_a_hook_is_refused_in_words_about_reading(caller, address):
    assert "read" not in fields(caller.post("/webhooks", {"address": address}))["address"]


@pytest.mark.django_db
def test_a_token_of_every_day_makes_and_sees_no_hook_and_nobody_has_too_many(caller, mira, mira_calls):
    assert "webhooks" in problem(mira_calls.post("/webhooks", {"address": "https://example.org/"}), 403)["detail"]
    assert "webhooks" in problem(mira_calls.get("/webhooks"), 403)["detail"]
    Webhook.objects.bulk_create(Webhook(owner=mira, address="https://example.org/") for _ in range(20))
    problem(caller.post("/webhooks", {"address": "https://example.org/"}), 409)
