"""What somebody says to a run is taken as a form would take it, whichever door it comes through."""

import pytest

from inquiries.comments import InvalidHint as WrongHint
from inquiries.comments import post_hint as hint
from inquiries.models import AssignmentKind
from missions.comments import InvalidMessage as WrongWords
from missions.comments import post_message as tell
from plans.comments import InvalidComment, post_comment
from tests.conftest import NOBODYS_ID

NO_WORDS = ["", "   ", "\u200b", "\u200b \u200b", "\0 \0", "hey \ud800 you", "word " * 2_000]
DOORS = [
    (lambda words: post_comment(NOBODYS_ID, None, words), InvalidComment),
    (lambda words: post_comment(NOBODYS_ID, None, words, 1), InvalidComment),
    (lambda words: hint(NOBODYS_ID, None, AssignmentKind.HINT, words), WrongHint),
    (lambda words: hint(NOBODYS_ID, None, AssignmentKind.REPLAN, words), WrongHint),
    (lambda words: tell(NOBODYS_ID, None, words), WrongWords),
]


@pytest.mark.parametrize(("door", "wrong"), DOORS, ids=["planner", "step", "hint", "anew", "crew"])
def test_what_cannot_be_kept_or_says_nothing_is_refused_before_anything_is_read(door, wrong):
    for words in NO_WORDS:
        with pytest.raises(wrong):
            door(words)
