"""The site of the tests, at a later time."""

from tests import moved_clock

moved_clock.install()  # before the models are loaded

from tests.settings import *  # noqa: E402, F403
