"""Everything that servers are known to send, read without a wire: nothing right is refused, nothing cut is taken."""

import json
import re
from contextlib import suppress

from engine.llm import errors
from engine.llm.prompt_blocks import one_object
from engine.llm.providers import Provider
from engine.llm.refusals import Refusal
from engine.llm.streaming import ReplyReader
from tests.served import REFUSED, SENT
from tests.served.sent import ANSWER, READ, event
from tests.served.table import DOCUMENT, document

PROVIDER = Provider("openai", "http://127.0.0.1:9/v1", "sk-canary-1234567890")
FORMAT = {"type": "json_schema"}
ASKED = {"model": "m", "stream": True, "response_format": FORMAT, "stream_options": {"include_usage": True}}
ASKED["messages"] = [{"role": "system", "content": "Judge."}]


def outcome(body, size=0):
    """What comes of a body that comes in pieces of so many bytes: an end, and whether the server was away."""
    reader = ReplyReader(lambda: None, PROVIDER, ASKED)
    try:
        for start in range(0, len(body), size or len(body) or 1):
            reader.feed(body[start : start + (size or len(body))])
        reader.close()
        return (READ if one_object(reader.reply.text) == json.loads(ANSWER) else "another answer"), False
    except errors.CallFailed as failure:
        return failure.code, failure.server_away
    except ValueError:
        return errors.UnusableAnswer.code, False


def test_every_answer_ends_as_it_has_to_in_pieces_of_any_size():
    due = {(one.server, one.what): (one.ends, one.away) for one in SENT}
    for size in (0, 1, 7, 64):
        found = {(one.server, one.what): outcome(one.body, size) for one in SENT}
        assert {place: (end, due[place]) for place, end in found.items() if end != due[place]} == {}
    assert len(due) == len(SENT)


def cuts(body):
    """A body cut after each of its lines, each of its events, and in the midst of one in ten places."""
    places = {at + 1 for at in range(len(body)) if body[at] in b"\r\n"} | {*range(0, len(body), 1 + len(body) // 10)}
    return [body[:at] for at in sorted(places)]


def said_in(body):
    reader = ReplyReader(lambda: None, PROVIDER)
    with suppress(errors.CallFailed):
        reader.feed(body)
    return reader.text


def test_no_answer_that_was_cut_is_taken_as_a_whole_one():
    taken = []
    for one in SENT:
        for cut in cuts(one.body):
            ends = {outcome(cut)[0], outcome(cut + b"\n\n" + event("[DONE]"))[0]}
            whole = cut.strip() == one.body.strip() or ANSWER in said_in(cut + b"\n\n")
            if "another answer" in ends or (READ in ends and not whole):
                taken.append((one.server, one.what, cut))
    assert taken == []


def test_every_error_is_the_failure_that_it_has_to_be():
    wrong = []
    for one in REFUSED:
        failure = Refusal(one.status, one.body.encode(), one.headers, PROVIDER, "openai (host)").failure("m", ASKED)
        step = getattr(failure, "refused", "")
        wait = None if failure.retry_after is None else round(failure.retry_after, 2)
        found = (failure.code, one.tells in str(failure), failure.server_away, wait, step)
        ended_twice = re.search(r"[.!?…]”\.", str(failure))
        if ended_twice or found != (one.ends, True, one.away, one.wait, one.step):
            wrong.append((one.server, one.status, one.body[:90], found, str(failure)))
    assert wrong == []


def test_the_document_counts_what_is_sent():
    assert DOCUMENT.read_text() == document()
    assert len(SENT) + len(REFUSED) >= 200
