"""What a tool would do is said to people in their words."""

import pytest

from engine.models import Effect
from engine.tools import own_tools

LETTER = {"subject": "Welcome", "text": "Dear Jessica"}
ADA, BEN = "ada@example.org", "ben@example.org"


@pytest.mark.parametrize(
    ("tool", "arguments", "title"),
    [
        ("mail.send", {"to": [ADA], **LETTER}, f"Send a letter to {ADA}"),
        ("mail.draft", {"to": [ADA, BEN], **LETTER}, f"Draft a letter to {ADA} and {BEN}"),
        ("mail.send", {"to": [ADA, BEN, "c@example.org"], **LETTER}, f"Send a letter to {ADA}, {BEN} and 1 more"),
        ("tasks.change", {"task": 88, "state": "done"}, "Change task 88"),
        ("documents.write", {"name": "A\nB", "text": "It."}, "Write the document “A↵B”"),
        ("documents.write", {"name": "A\u202eB", "text": "It."}, "Write the document “A‹U+202E›B”"),
        ("calendar.move", {"entry": 3, "start": "2026-12-01T09:00", "end": "2026-12-01T10:00"}, None),
        ("purchases.request", {"lines": [{"what": "Lamp", "number": 2}] * 3}, "Ask to buy 2 of “Lamp” and 2 more"),
    ],
)
def test_it_is_a_title_of_one_line_in_which_nothing_hides(tool, arguments, title):
    found = own_tools()[tool]
    said = found.title_of_use(found.read(arguments))
    assert said == (title or "Move entry 3 to Tue 2026-12-01 09:00 UTC")


def test_each_tool_that_any_agent_may_have_and_that_does_something_has_its_own_words():
    given = [tool for tool in own_tools().values() if "." in tool.name and tool.effect != Effect.READS]
    assert [tool.name for tool in given if not tool.deed] == []
