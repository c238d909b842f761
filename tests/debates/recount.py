"""Every debate that is concluded in a test comes to the same once more, from nothing but its own XML.

The rules are those that `tools/verify.py` states a second time.
"""

from collections.abc import Iterator
from uuid import UUID
from xml.etree import ElementTree

import pytest

from debates.models import Debate, writes
from debates.record.xml_export import render_debate_xml
from debates.xml_messages import Act, read_act, unescape_scaffold
from tools.verify import outcome_of


def recounted(xml: str) -> tuple[str, str]:
    """The outcome, and why there is none."""
    root = ElementTree.fromstring(xml)
    options = [unescape_scaffold(one.attrib["word"]) for one in root.iterfind("Options/Option")]
    members = [unescape_scaffold(one.text) for one in root.iterfind("Members/Member") if one.attrib["kind"] == "member"]
    stood = {name: verdict for _, name, verdict in sorted(_stated(root), key=lambda one: one[0])}
    found = outcome_of(root.find("Outcome").attrib["rule"], options, [stood.get(name, "") for name in members])
    return found["outcome"], found["no_decision"]


def _stated(root: ElementTree.Element) -> Iterator[tuple[int, str, str]]:
    for one in root.iterfind("Messages/Message"):
        yield (
            int(one.attrib["id"].rpartition("-")[2]),
            *(unescape_scaffold(one.findtext(name)) for name in ("Speaker", "Verdict")),
        )
    yield from ((act.after, act.member, act.verdict) for act in acts_in(root) if act.verdict)


def acts_in(root: ElementTree.Element) -> list[Act]:
    return [read_act(ElementTree.tostring(one, "unicode")) for one in root.iterfind("Acts/Act")]


_otherwise: list[str] = []


def _recount(pk: UUID) -> None:
    debate = Debate.objects.with_members().get(pk=pk)
    kept = (debate.run.outcome, debate.no_decision)
    xml = render_debate_xml(debate)
    if (found := recounted(xml)) != kept:
        _otherwise.append(f"{debate.question}: {kept}, and by its XML {found}")
    if nameless := [act for act in acts_in(ElementTree.fromstring(xml)) if not act.by]:
        _otherwise.append(f"{debate.question}: nobody did {nameless}")


@pytest.fixture(scope="session", autouse=True)
def _concluding() -> Iterator[None]:
    whole = writes.conclude

    def conclude(debate: UUID, because: str) -> None:
        whole(debate, because)
        _recount(debate)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(writes, "conclude", conclude)
        yield


@pytest.fixture(autouse=True)
def every_debate_recounts_from_its_own_xml() -> Iterator[None]:
    yield
    found = list(_otherwise)
    _otherwise.clear()
    assert found == []
