"""The log as software reads it: one object a line, with the run that it is about."""

import json
import logging
import sys
from types import SimpleNamespace
from uuid import uuid4

import pytest

from engine import json_logs

RUN = uuid4()


def written(message, *args, **more):
    record = logging.LogRecord(
        "engine.queue.worker", logging.ERROR, "x.py", 1, message, args, more.pop("exc_info", None)
    )
    record.__dict__.update(more)
    line = json_logs.JsonFormatter().format(record)
    assert "\n" not in line
    assert line.isascii()
    return json.loads(line)


def test_a_line_is_one_object_whatever_others_wrote():
    said = written("What came: %s", "a\nb\u202e\x1b[2J")
    assert (said["level"], said["logger"], said["message"]) == (
        "error",
        "engine.queue.worker",
        "What came: a\nb\u202e\x1b[2J",
    )
    assert "run" not in said
    assert said["time"].endswith("Z")


def test_it_says_the_run_that_is_named_or_performed_or_looked_at():
    assert written("Run %s broke.", RUN)["run"] == str(RUN)
    request = SimpleNamespace(path="/shared/secret/", method="GET")
    said = written("Internal Server Error: %s", f"/judgements/{RUN}/", request=request, status_code=500)
    assert "secret" not in str(said)
    assert (said["run"], said["method"], said["status"]) == (str(RUN), "GET", 500)
    token = json_logs.current_run_id.set(RUN)
    assert written("A call failed.")["run"] == str(RUN)
    json_logs.current_run_id.reset(token)


def test_a_traceback_stands_in_it():
    try:
        raise ValueError("No")
    except ValueError:
        assert "ValueError: No" in written("It broke.", exc_info=sys.exc_info())["error"]


@pytest.mark.parametrize("args", [({"a": 1},), ()])
def test_a_line_without_a_run_has_none(args):
    assert "run" not in written("Nothing.", *args)


def test_what_is_said_again_and_again_is_said_seldom_and_how_often_it_was():
    seldom, said = json_logs.RepeatFilter(30), []
    for second in (0, 1, 29, 31, 62):
        record = logging.LogRecord("engine.pubsub", logging.WARNING, "x.py", 1, "Lost (%s).", ("away",), None)
        record.created = 1_000 + second
        said += [record.getMessage()] if seldom.filter(record) else []
    assert said == ["Lost (away).", "Lost (away). 2 more such lines were left out since the last one.", "Lost (away)."]
