"""What somebody says to a run is taken as a form would take it, whichever door it comes through."""

import pytest

from inquiries.models import OrderKind
from inquiries.talking import Wrong as WrongHint
from inquiries.talking import say as hint
from missions.talking import Wrong as WrongWords
from missions.talking import say as tell
from plans.talking import Wrong, say
from tests.conftest import NOBODYS_ID

NO_WORDS = ["", "   ", "\u200b", "\u200b \u200b", "\0 \0", "hey \ud800 you", "word " * 2_000]
DOORS = [
    (lambda words: say(NOBODYS_ID, None, words), Wrong),
    (lambda words: say(NOBODYS_ID, None, words, 1), Wrong),
    (lambda words: hint(NOBODYS_ID, None, OrderKind.HINT, words), WrongHint),
    (lambda words: hint(NOBODYS_ID, None, OrderKind.REPLAN, words), WrongHint),
    (lambda words: tell(NOBODYS_ID, None, words), WrongWords),
]


@pytest.mark.parametrize(("door", "wrong"), DOORS, ids=["planner", "step", "hint", "anew", "crew"])
def test_what_cannot_be_kept_or_says_nothing_is_refused_before_anything_is_read(door, wrong):
    for words in NO_WORDS:
        with pytest.raises(wrong):
            door(words)
