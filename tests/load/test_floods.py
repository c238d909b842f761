"""Much at once, in short: queues, torrents, streams and guesses. The commands in this folder play them at length."""

import pytest

from tests.acceptance.site import play

pytestmark = pytest.mark.slow


def test_a_long_queue_survives_a_restart_in_flat_memory(tmp_path):
    done = play("tests.load.long_queue", "--judgements", "400", "--seconds", "3", data=tmp_path)
    assert done.returncode == 0, done.stdout


def test_an_answer_that_comes_a_second_time_is_taken_for_nobodys(tmp_path):
    done = play("tests.load.foreign_answers", "--judgements", "40", data=tmp_path)
    assert done.returncode == 0, done.stdout


def test_seven_agents_that_are_sent_torrents_hold_up_neither_the_site_nor_others(tmp_path):
    done = play("tests.load.torrents", "--seconds", "8", "--limit", "5", data=tmp_path)
    assert done.returncode == 0, done.stdout


def test_following_and_waiting_cost_no_thread_and_shut_nobody_out(tmp_path):
    done = play("tests.load.many_streams", "--streams", "24", "--waits", "24", data=tmp_path)
    assert done.returncode == 0, done.stdout


def test_guesses_at_passwords_are_refused_and_hold_nobody_up(tmp_path):
    # times are no matter here, where much else goes on: the command by itself measures them
    words = "--guesses 80 --times 2 --alike 30 --longest 10".split()
    done = play("tests.load.sign_in_flood", *words, data=tmp_path)
    assert done.returncode == 0, done.stdout
