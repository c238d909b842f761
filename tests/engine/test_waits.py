"""How long an endpoint asks to wait, wherever it says so."""

from django.utils import timezone

from engine.llm import waits
from engine.llm.errors import ServerError
from engine.llm.queues import ProviderQueue

WORDS = {
    "Rate limit reached. Please try again in 7.66s. Visit the console.": 7.66,
    "Limit 3 a minute. Please try again in 1m20s.": 80,
    "try again in 2m59.56s": 179.56,
    "Try again in 120ms": 0.12,
    "retry your requests after 20 seconds": 20,
    "Please retry after 9 seconds.": 9,
    "Please wait 20 seconds": 20,
    "Please retry in 37.66s.": 37.66,
    "You can try again in about 2 minutes and 5 seconds": 125,
    '{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}': 37,
    '{"error": "upstream: {\\"retryDelay\\": \\"12.5s\\"}"}': 12.5,
    '{"retryDelay": {"seconds": 34}}': 34,
    '{"error": "Model m is currently loading", "estimated_time": 20.0}': 20,
    '{"retry_after_ms": 1500}': 1.5,
    '{"metadata": {"retry_after_seconds": 30}}': 30,
    "try again later": None,
    "Wait 20 seeds": None,
    "It took 20 seconds.": None,
    "": None,
}
HEADERS = [
    ({"retry-after": "20"}, 20),
    ({"retry-after": "1m0s"}, 60),
    ({"retry-after": "soon"}, None),
    ({"retry-after": "soon", "retry-after-ms": "250"}, 0.25),
    ({"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-reset-tokens": "7.5s"}, 7.5),
    ({"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-remaining-requests": "0", "ratelimit-reset": "3"}, 360),
    ({"ratelimit-reset": "12"}, 12),
    ({"x-ratelimit-reset": "1600000000000"}, 0),  # a moment, long ago
    ({"anthropic-ratelimit-tokens-reset": "2001-01-01T00:00:00Z"}, 0),
    ({"anthropic-ratelimit-tokens-reset": "tomorrow"}, None),
]


def test_a_wait_is_found_in_words_and_fields():
    assert {said: waits.in_words(said) for said in WORDS} == WORDS


def test_a_wait_is_found_in_headers_of_every_name():
    assert [(headers, waits.named(headers, "", limited=True)) for headers, _ in HEADERS] == HEADERS


def test_what_every_answer_says_of_the_next_minute_is_no_wait_where_no_rate_is_limited():
    assert waits.named({"x-ratelimit-reset-tokens": "7.5s"}, "") is None


async def test_a_wait_of_ages_is_one_of_a_year_for_which_every_clock_has_a_date():
    for headers, body in (({"retry-after": "1e15"}, ""), ({}, "try again in 999999999999 days")):
        failure = ServerError("It is away.")
        failure.retry_after = waits.named(headers, body)
        assert failure.retry_after == waits.LONGEST
        with ProviderQueue().turn(600.0) as turn:
            assert turn.lost(failure)[0] > timezone.now()
