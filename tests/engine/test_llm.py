"""The boundary to models, over real sockets: an endpoint in another process that misbehaves on request."""

import asyncio
import time
from contextlib import suppress

import pytest

from engine.llm import errors
from engine.llm.client import ModelClient
from engine.llm.response_format import RequestMode
from engine.llm.response_stream import PIECE_BYTES
from engine.llm.streaming import ReplyReader
from judgements.procedure import DECISION
from tests.conftest import some_of
from tests.endpoint import ScriptedEndpoint
from tests.waiting import LIMIT, wait_until

DEADLINE = 1.0
KEY = "sk-canary-1234567890"
ASKED = [{"role": "user", "content": "Well?"}]


@pytest.fixture(scope="module")
def endpoint():
    with ScriptedEndpoint() as endpoint:
        yield endpoint


BOTH = pytest.mark.parametrize("models", ["first", "later"], indirect=True)


@pytest.fixture(params=some_of(["later", "first"], 1))
async def models(endpoint, settings, request):
    """Each question is the client's first one, or one of those that go out as the first one did."""
    endpoint.reset()
    settings.PROVIDERS = {"openai": {"base_url": endpoint.base_url, "api_key": KEY}}
    models = ModelClient(timeout=20)  # a machine may be busy
    models.first = request.param == "first"
    if not models.first:
        await ask(models)
        models._ways.clear()
        models._quick.clear()
        endpoint.reset()
    yield models
    await models.close()


def ask(models, model="openai/gpt-5-mini", see=lambda text: None):
    return models.ask(model, ASKED, DECISION, lambda text: see(text()), models.request_mode(model))


@pytest.mark.parametrize("behaviour", ["good", "good_unstreamed"])
async def test_an_answer_is_read_streamed_or_whole(models, endpoint, behaviour):
    endpoint.script(default={"behaviour": behaviour, "reason": "It is safe enough."})
    reply = await ask(models)
    assert DECISION.read(reply.text).reason == "It is safe enough."
    assert reply.model == "gpt-5-mini-2026-11"
    assert reply.input_tokens > 0
    assert reply.output_tokens > 0


async def test_the_text_is_shown_while_it_grows(models, endpoint):
    seen = []
    endpoint.script(default={"chunks": 10})
    reason = DECISION.read((await ask(models, see=seen.append)).text).reason
    assert len(seen) >= 10
    assert all(reason.startswith(text) for text in seen)
    assert 0 < len(seen[3]) < len(seen[6]) < len(reason)


def test_the_places_of_a_provider_are_shared_by_its_models(provider):
    client = ModelClient(timeout=1.0)
    assert client.queue("openai/a") is client.queue("openai/b")
    assert client.queue("openai/a") is not client.queue("rehearsal/instant")


async def test_the_request_asks_for_the_form_and_a_stream(models, endpoint):
    await ask(models)
    body = endpoint.requests()[0]["body"]
    assert body["model"] == "gpt-5-mini"
    assert body["messages"] == ASKED
    assert body["stream"] is True
    assert body["response_format"]["json_schema"]["strict"] is True


def streamed(endpoint):
    return [request["body"]["stream"] for request in endpoint.requests()]


async def test_a_quick_model_is_asked_for_one_piece_unless_somebody_watches(models, endpoint):
    await ask(models)
    await ask(models)
    await models.ask("openai/gpt-5-mini", ASKED, DECISION, lambda text: None, RequestMode(streams=True))
    await ask(models)
    assert streamed(endpoint) == [True, False, True, False]


@pytest.mark.parametrize(
    ("status", "said", "kind", "then"),
    [
        (504, "The upstream was silent for too long.", errors.ServerError, [True, False]),
        (400, "This model only supports stream mode.", errors.ResponseFormatRejected, [True, True]),
    ],
)
async def test_where_one_piece_does_not_come_the_next_is_a_stream(models, endpoint, status, said, kind, then):
    await ask(models)
    endpoint.script(default={"behaviour": "status", "status": status, "body": {"error": {"message": said}}})
    with pytest.raises(kind):
        await ask(models)
    endpoint.script(default={"behaviour": "good"})
    await ask(models)
    await ask(models)
    assert streamed(endpoint)[-2:] == then


ENDLESS = ("hang", "drip_headers", "drip_body", "endless")
FAILING = {
    "close_at_once": errors.EndpointUnreachable,
    "reset": errors.EndpointUnreachable,
    "garbage": errors.EndpointUnreachable,
    "cut_connection": errors.EndpointUnreachable,
    "cut_stream": errors.EndpointUnreachable,
    "finish_length": errors.AnswerTruncated,
    "finish_filter": errors.ContentFiltered,
    "refusal": errors.UnusableAnswer,
    "not_json": errors.UnusableAnswer,
    "truncated_json": errors.UnusableAnswer,
    "deep": errors.UnusableAnswer,
    "not_utf8": errors.UnusableAnswer,
    "choices_null": errors.UnusableAnswer,
    "html": errors.UnusableAnswer,
    "empty": errors.UnusableAnswer,
    "huge": errors.UnusableAnswer,
    "error_in_200": errors.ServerError,
    "error_in_stream": errors.ServerError,
    "redirect": errors.RequestRejected,
}


@BOTH
async def test_each_misbehaviour_is_one_failure_of_its_kind(models, endpoint):
    found = {behaviour: type(await failure(models, endpoint, behaviour=behaviour)) for behaviour in FAILING}
    assert found == FAILING


async def failure(models, endpoint, **rule):
    """What comes of the next question; of the first one, where none was answered before."""
    if models.first:
        await models.close()  # which forgets how it asked
    endpoint.reset()
    endpoint.script(default=rule)
    with pytest.raises(errors.CallFailed) as failed:
        await ask(models)
    assert [request["path"] for request in endpoint.requests()] == ["/v1/chat/completions"]
    return failed.value


@BOTH
async def test_what_has_no_end_is_given_up_at_the_deadline(models, endpoint):
    models.timeout = DEADLINE
    endpoint.script(queue=[{"behaviour": behaviour} for behaviour in ENDLESS])
    async with asyncio.timeout(LIMIT):
        ends = await asyncio.gather(*(ask(models) for _ in ENDLESS), return_exceptions=True)
    assert {type(end) for end in ends} == {errors.CallTimedOut}


STATUSES = {
    "invalid_api_key": errors.Unauthorized,
    "unsupported_country_region_territory": errors.Unauthorized,
    "model_not_found": errors.UnknownModel,
    "context_length_exceeded": errors.RequestRejected,
    "content_filter": errors.ContentFiltered,
    "rate_limit_exceeded": errors.RateLimited,
    "insufficient_quota": errors.QuotaExceeded,
    "server_error": errors.ServerError,
    "overloaded": errors.ServerError,
}


@BOTH
async def test_each_error_status_is_a_failure_of_its_kind_with_what_came_back(models, endpoint):
    failed = {error: await failure(models, endpoint, behaviour="status", error=error) for error in STATUSES}
    assert {error: type(one) for error, one in failed.items()} == STATUSES
    assert [error for error, one in failed.items() if error not in one.raw] == []


async def test_a_rate_limit_says_how_long_to_wait(models, endpoint):
    beyond = "Wed, 21 Oct 99999999999999999999 07:28:00 GMT"  # all calendars
    waits = {"2": 2, "86400": 86400, "soon": None, "nan": None, "-5": 0, beyond: None}
    limited = {"behaviour": "status", "error": "rate_limit_exceeded"}
    found = {said: await failure(models, endpoint, **limited, headers={"Retry-After": said}) for said in waits}
    assert {said: one.retry_after for said, one in found.items()} == waits
    assert not any(one.permanent for one in found.values())


async def test_an_endpoint_that_is_down_is_named_with_its_host(settings):
    settings.PROVIDERS = {"openai": {"base_url": "http://127.0.0.1:9/v1", "api_key": KEY}}
    models = ModelClient(timeout=DEADLINE)
    with pytest.raises(errors.EndpointUnreachable, match=r"openai \(127\.0\.0\.1:9\) could not be reached"):
        await ask(models)
    await models.close()


async def test_a_key_that_an_endpoint_repeats_is_not_kept(models, endpoint):
    endpoint.script(default={"behaviour": "status", "status": 401, "body": f"Your key {KEY} is wrong."})
    with pytest.raises(errors.Unauthorized) as failed:
        await ask(models)
    assert failed.value.raw == "Your key [key] is wrong."
    assert KEY not in str(failed.value)


@pytest.mark.parametrize("said", [f"bad header: Bearer {KEY}", "bad \ud800 thing", "bad \x00 thing"])
async def test_no_key_and_nothing_unstorable_is_in_a_sentence(models, endpoint, said):
    endpoint.script(default={"behaviour": "status", "status": 400, "body": {"error": {"message": said}}})
    with pytest.raises(errors.RequestRejected, match="It said: “bad") as failed:
        await ask(models)
    for text in (str(failed.value), failed.value.raw):
        assert KEY not in text
        assert "\x00" not in text
        assert text.encode()


async def test_an_error_body_without_end_is_not_read_to_its_end(models, endpoint):
    endpoint.script(default={"behaviour": "status", "status": 400, "body": "x" * 40_000_000})
    with pytest.raises(errors.RequestRejected) as failed:
        await ask(models)
    assert len(failed.value.raw) <= 256 * 1024
    assert endpoint.requests()[0]["finished"] is None


async def test_a_key_in_a_reason_is_not_kept(models, endpoint):
    endpoint.script(default={"reason": f"The header says {KEY}."})
    assert KEY not in (await ask(models)).text


async def test_a_model_without_provider_is_refused_before_anything_is_sent(models, endpoint, settings):
    settings.PROVIDERS = {}
    with pytest.raises(errors.UnknownModel, match="No model provider is configured"):
        await ask(models, model="gpt-5-mini")
    assert endpoint.requests() == []


async def test_two_hundred_are_asked_at_once(models, endpoint):
    models.timeout = 10 * LIMIT
    endpoint.script(default={"behaviour": "hang"})
    asked = [asyncio.create_task(ask(models)) for _ in range(200)]
    await asyncio.to_thread(wait_until, lambda: endpoint.counts().get("received") == 200, "two hundred questions")
    for one in asked:
        one.cancel()
    ends = await asyncio.gather(*asked, return_exceptions=True)
    assert {type(end) for end in ends} == {asyncio.CancelledError}


async def test_a_second_answer_is_taken_for_nobodys(models, endpoint):
    queue = [{"behaviour": "answers_twice"}, {"decision": "reject", "delay": 0.2}]
    endpoint.script(queue=queue)
    assert DECISION.read((await ask(models)).text).decision == "approve"
    assert DECISION.read((await ask(models)).text).decision == "reject"


async def test_each_request_has_a_connection_of_its_own(models, endpoint):
    for _ in range(5):
        await ask(models)
    assert len({request["connection"] for request in endpoint.requests()}) == 5


async def test_a_cookie_of_an_endpoint_is_not_sent_back(models, endpoint, settings):
    settings.PROVIDERS["openai"]["base_url"] = endpoint.base_url.replace("127.0.0.1", "localhost")
    endpoint.script(queue=[{"behaviour": "status", "status": 500, "headers": {"Set-Cookie": "session=mine"}}])
    with pytest.raises(errors.ServerError):
        await ask(models)
    await ask(models)
    assert endpoint.requests()[1]["cookie"] is None


async def test_the_rehearsal_answers_through_the_same_client(models, endpoint, settings):
    settings.PROVIDERS = {}
    from judgements import prompts

    request = prompts.messages(prompts.PromptCase("A", "Always approve.", "Go.", 1))
    reply = await models.ask("rehearsal/instant", request, DECISION, lambda text: None, RequestMode())
    assert DECISION.read(reply.text).decision == "approve"
    assert reply.model == "rehearsal-instant"
    assert endpoint.requests() == []


async def test_a_key_is_hidden_before_anything_is_cut(models, endpoint):
    message = "x" * 290 + KEY
    endpoint.script(default={"behaviour": "status", "status": 400, "body": {"error": {"message": message}}})
    with pytest.raises(errors.RequestRejected) as failed:
        await ask(models)
    assert KEY[:8] not in str(failed.value) + failed.value.raw


async def test_a_key_in_a_growing_answer_is_not_shown(models, endpoint):
    seen = []
    endpoint.script(default={"reason": f"Your key is {KEY}.", "chunks": 3})
    await ask(models, see=seen.append)
    assert not any(KEY in text for text in seen)


async def test_half_a_key_in_a_growing_answer_is_not_shown(models, endpoint):
    seen = []
    spelled = KEY.replace("c", "\\u0063")
    content = f'{{"reason": "Your key is {spelled}, is it not?", "decision": "approve"}}'
    endpoint.script(default={"behaviour": "raw", "content": content, "chunks": 60})
    await ask(models, see=seen.append)
    assert seen[-1] == "Your key is [key], is it not?"
    assert not any(KEY[:8] in text for text in seen)


async def lags():
    """How late each of many short waits ended, for as long as the caller likes."""
    late = []
    with suppress(asyncio.CancelledError):
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.01)
            late.append(time.monotonic() - began - 0.01)
    return late


async def torrent(models, number):
    """So many at once, to their deadline: how late the loop was at most, and which share of its time they took."""
    looking, began = asyncio.create_task(lags()), time.monotonic()
    worked = time.thread_time()
    ends = await asyncio.gather(*(ask(models) for _ in range(number)), return_exceptions=True)
    share = (time.thread_time() - worked) / (time.monotonic() - began)
    looking.cancel()
    assert all(isinstance(end, errors.CallTimedOut | errors.UnusableAnswer) for end in ends)
    assert time.monotonic() - began < models.timeout + 1
    return max(await looking), share


KINDS = ["characters", "small_chunks", "thoughts", "no_pieces"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule", [*({"behaviour": "torrent", "torrent": [k]} for k in KINDS), {"behaviour": "informational"}], ids=str
)
async def test_seven_torrents_hold_up_nobody(models, endpoint, rule):
    models.timeout = 2
    endpoint.script(default=rule)
    late, share = await torrent(models, 7)
    assert late < 1
    assert share < 0.8


@pytest.mark.slow
async def test_beside_torrents_an_answer_comes_at_once(models, endpoint):
    models.timeout = 4
    endpoint.script(default={"behaviour": "torrent"}, queue=[{"behaviour": "torrent"}] * 7 + [{}])
    torrents = [asyncio.create_task(ask(models)) for _ in range(7)]
    await asyncio.sleep(1)
    began = time.monotonic()
    assert DECISION.read((await ask(models)).text).decision == "approve"
    assert time.monotonic() - began < 1
    await asyncio.gather(*torrents, return_exceptions=True)


async def test_a_packed_gigabyte_costs_no_more_than_the_beginning_of_it(models, endpoint, monkeypatch):
    sizes, feed = [], ReplyReader.feed
    monkeypatch.setattr(ReplyReader, "feed", lambda reader, piece: sizes.append(len(piece)) or feed(reader, piece))
    endpoint.script(default={"behaviour": "gzip_line_breaks", "megabytes": 1024})
    with pytest.raises(errors.UnusableAnswer, match="The answer has no end"):
        await ask(models)
    assert (max(sizes) <= PIECE_BYTES, sum(sizes) < 4 * 1024 * 1024) == (True, True)


async def test_long_thinking_is_no_long_answer(models, endpoint):
    endpoint.script(default={"behaviour": "thinking"})
    assert DECISION.read((await ask(models)).text).decision == "approve"


async def test_an_answer_ends_where_it_says_so(models, endpoint):
    models.timeout = 3
    endpoint.script(default={"behaviour": "open_end"})
    assert DECISION.read((await ask(models)).text).decision == "approve"


QUOTED = 'Content policy violated. The request was: {"response_format": {"type": "json_schema"}}'


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [(400, "content_filter", errors.ContentFiltered), (500, None, errors.ServerError)],
)
async def test_words_of_a_format_in_another_error_refuse_no_format(models, endpoint, status, code, kind):
    body = {"error": {"message": QUOTED, "code": code}}
    endpoint.script(default={"behaviour": "status", "status": status, "body": body})
    with pytest.raises(errors.CallFailed) as failed:
        await ask(models)
    assert type(failed.value) is kind


AWAY = {  # (status, what it says): whether the server was away or busy, and for how long at least
    (503, '{"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}'): (True, None),
    (503, '{"error": "Model m is currently loading", "estimated_time": 20.0}'): (True, 20.0),
    (502, "<title>502 Bad Gateway</title>"): (True, None),
    (529, '{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'): (True, None),
    (500, '{"error": {"message": "litellm.InternalServerError: Connection error."}}'): (True, None),
    (429, '{"error": {"message": "Limit 3. Please try again in 1m20s."}}'): (True, 80.0),
    (500, '{"error": {"message": "list index out of range"}}'): (False, None),
    (404, '{"error": {"message": "The model was loading once."}}'): (False, None),
}


async def test_a_server_that_is_away_or_busy_is_told_from_one_that_errs(models, endpoint):
    found = {
        (status, body): await failure(models, endpoint, behaviour="status", status=status, body=body)
        for status, body in AWAY
    }
    assert {said: (one.server_away, one.retry_after) for said, one in found.items()} == AWAY
    gone = [await failure(models, endpoint, behaviour=name) for name in ("close_at_once", "reset", "cut_connection")]
    assert [one.server_away for one in gone] == [True, True, False]


async def test_a_request_says_how_long_an_answer_may_be_and_what_is_declared_for_its_model(models, endpoint, settings):
    settings.PROVIDERS["openai"] |= {"fields": {"*": {"seed": 7, "top_k": 20}, "gpt-5-mini": {"seed": 8}}}
    await ask(models)
    body = endpoint.requests()[0]["body"]
    assert {name: body[name] for name in ("seed", "top_k", "max_tokens")} == {
        "seed": 8,
        "top_k": 20,
        "max_tokens": DECISION.max_tokens,
    }
    settings.PROVIDERS["openai"] |= {"fields": {"*": {"max_completion_tokens": 50}}}
    await ask(models)
    body = endpoint.requests()[1]["body"]
    assert ("max_tokens" in body, body["max_completion_tokens"]) == (False, 50)


LENGTH_REFUSED = {
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.": (
        "max_completion_tokens"
    ),
    "This model's maximum context length is 4096 tokens. However, you requested 5385 tokens (1289 in the messages, "
    "4096 in the completion). Please reduce the length of the messages or completion.": "",
}


async def test_a_length_that_is_refused_by_name_or_for_lack_of_room_is_asked_for_otherwise(models, endpoint):
    found = {}
    for said in LENGTH_REFUSED:
        body = {"error": {"message": said, "code": "context_length_exceeded" if "context" in said else None}}
        failed = await failure(models, endpoint, behaviour="status", status=400, body=body)
        found[said] = RequestMode().without(failed.refused, DECISION).length
    assert found == LENGTH_REFUSED


async def test_an_answer_that_goes_round_in_circles_is_ended(models, endpoint):
    endpoint.script(default={"behaviour": "raw", "content": "It is the purpose of " * 2000, "chunks": 4000})
    with pytest.raises(errors.UnusableAnswer, match="round in circles"):
        await ask(models)
