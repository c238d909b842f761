"""Messages about runs, from a site in a process of its own to a receiver that keeps them."""

import signal
import sqlite3

import pytest

from tests.acceptance.site import ServedSite, manage
from tests.acceptance.test_api import CurlCaller
from tests.receiver import Receiver, verified


@pytest.fixture
def receiver():
    with Receiver() as receiver:
        yield receiver


def token_of(site):
    return manage("create_token", "admin", "--scopes", "submit,steer,webhooks", env=site.env).stdout.strip()


def test_a_judgement_is_told_of_when_it_has_ended_also_where_the_receiver_fails_at_first(tmp_path, receiver):
    with ServedSite(tmp_path, MAGI_HOOKS_ALLOWED_HOSTS=receiver.place, MAGI_DEFAULT_MODEL="rehearsal/instant") as site:
        caller = CurlCaller(site, token_of(site))
        status, hook = caller.call("POST", "/webhooks", {"address": receiver.address("/500/1"), "what": "over"})
        assert status == 201
        found = caller.call("GET", f"{caller.submit(title='Japan')}?wait=60")[1]
        [came] = receiver.wait_for(1)
        said = verified(came, hook["secret"])["data"]
        assert (said["id"], said["outcome"], said["title"]) == (found["id"], found["verdict"], "Japan")
        assert receiver.tried["/500/1"] == 2


def test_what_was_being_sent_when_all_was_killed_arrives_again_under_its_id(tmp_path, receiver):
    with ServedSite(tmp_path, MAGI_HOOKS_ALLOWED_HOSTS=receiver.place, MAGI_DEFAULT_MODEL="rehearsal/instant") as site:
        caller = CurlCaller(site, token_of(site))
        _, hook = caller.call("POST", "/webhooks", {"address": receiver.address("/slow")})
        caller.submit()
        while not receiver.tried["/slow"]:
            receiver.wait_for(1, 0.2)
        site.process.send_signal(signal.SIGKILL)
        site.process.wait(60)
    receiver.release.set()
    with sqlite3.connect(tmp_path / "magi.sqlite3") as rows:  # as if as long as a delivery may take had passed
        rows.execute("UPDATE runs_delivery SET taken = datetime('now', '-1 hour')")
    with ServedSite(tmp_path, MAGI_HOOKS_ALLOWED_HOSTS=receiver.place, MAGI_DEFAULT_MODEL="rehearsal/instant"):
        first, second = receiver.wait_for(2)
    assert first["headers"]["webhook-id"] == second["headers"]["webhook-id"]
    verified(second, hook["secret"])
