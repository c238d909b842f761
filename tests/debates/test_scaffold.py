from datetime import UTC, datetime
from xml.etree import ElementTree

import pytest
from hypothesis import given

from debates import xml_messages
from debates.prompt_context import AnswerShape, PromptArtifact, PromptPoint
from debates.xml_messages import XmlMessage, XmlNote

from .held import opened
from .strategies import NASTY, acts, few, messages, notes, texts

AT = datetime(2026, 11, 21, 14, 14, 5, tzinfo=UTC)

WHOLE = """\
<Message id="7f3a9c21-46" timestamp="2026-11-21T14:14:05Z" continues="45">
<Speaker>Rajiv Menon</Speaker>
<SpeakingTo answer="wanted">Ilse Brandt</SpeakingTo>
<SpeakingTo answer="wanted">Mei Tan</SpeakingTo>
<Artifacts>
<Point number="46.1" option="HIRE" side="for" document="A3" line="26" answers="12.1">The letter names dates.</Point>
<Point number="46.2" option="WAIT" side="against">Own knowledge: nobody waits.</Point>
<Table title="Supervision" show="bars"><Row><Cell>Year</Cell><Cell>Hours</Cell></Row>\
<Row><Cell>2025</Cell><Cell>44</Cell></Row></Table>
</Artifacts>
<Verdict stated="now" moved_by="41 45">HIRE</Verdict>
<VerdictReasoning>It answers message 41.</VerdictReasoning>
<Withdrawn>false</Withdrawn>
<Content>I asked &lt;b&gt;twice&lt;/b&gt;.\\nNow I know.</Content>
</Message>"""


def whole() -> XmlMessage:
    first = PromptPoint("The letter names dates.", "HIRE", "for", "A3", 26, "12.1")
    second = PromptPoint("Own knowledge: nobody waits.", "WAIT", "against")
    return XmlMessage(
        run="7f3a9c21",
        number=46,
        at=AT,
        speaker="Rajiv Menon",
        content="I asked <b>twice</b>.\nNow I know.",
        to=("Ilse Brandt", "Mei Tan"),
        wants_answer=True,
        points=(first, second),
        artifact=PromptArtifact("Supervision", AnswerShape.BARS, columns=("Year", "Hours"), rows=(("2025", "44"),)),
        verdict="HIRE",
        stated=True,
        moved_by=(41, 45),
        reasoning="It answers message 41.",
        continues=45,
    )


def test_a_message_is_written_with_all_its_elements_in_their_order():
    assert xml_messages.write_message(whole()) == WHOLE


def test_a_message_of_few_words_has_all_elements_too_some_of_them_empty():
    root = ElementTree.fromstring(xml_messages.write_message(XmlMessage("7f3a9c21", 2, AT, "Mei Tan")))
    names = "Speaker SpeakingTo Artifacts Verdict VerdictReasoning Withdrawn Content".split()
    assert [child.tag for child in root] == names
    assert [child.text for child in root] == ["Mei Tan", "everyone", None, None, None, "false", None]


def test_a_note_says_its_kind_and_after_which_message():
    note = XmlNote("7f3a9c21", 47, AT, "Timekeeper", "deadline", 20, "20 of 60.")
    attributes = 'id="7f3a9c21-47" timestamp="2026-11-21T14:14:05Z" kind="deadline" after="20"'
    inner = "<Speaker>Timekeeper</Speaker><Content>20 of 60.</Content>"
    assert xml_messages.write_message(note) == f"<Note {attributes}>{inner}</Note>"


@given(messages | notes)
def test_whatever_is_written_is_read_again_to_the_last_sign(message):
    assert xml_messages.read_messages(xml_messages.write_message(message)) == message


@given(acts)
@few
def test_so_is_an_act(act):
    assert xml_messages.read_act(xml_messages.write_act(act)) == act


def test_no_text_ends_an_element_or_a_line():
    for text in NASTY:
        point = PromptPoint(text, text, "for")
        written = xml_messages.write_message(XmlMessage("7f3a9c21", 2, AT, text, text, to=(text,), points=(point,)))
        assert len(written.split("\n")) == 11
        assert written.count("<Message") == written.count("</Message>") == written.count("<Content>") == 1


@given(texts)
@few
def test_nothing_hides_in_what_is_written(text):
    assert all(char.isprintable() or char.isspace() for char in xml_messages.inner_text(text))
    assert not {"\n", "\r", "\t", "<", ">", '"'} & set(xml_messages.inner_text(text))


FOREIGN = {
    "prose": "I vote HIRE.",
    "nothing": "",
    "another element": "<Floor></Floor>",
    "a declaration": f'<!DOCTYPE a [<!ENTITY b "c">]>{WHOLE}',
    "a hidden part": WHOLE.replace("<Withdrawn>", "<![CDATA[x]]><Withdrawn>"),
    "an instruction": f"<?xml version='1.0'?>{WHOLE}",
    "an element too few": WHOLE.replace("<Withdrawn>false</Withdrawn>\n", ""),
    "another order": WHOLE.replace("<Withdrawn>false</Withdrawn>\n", "").replace("<Verdict", "<Withdrawn/><Verdict"),
    "an element too many": WHOLE.replace("<Withdrawn>", "<Vote>HIRE</Vote><Withdrawn>"),
    "no number": WHOLE.replace('id="7f3a9c21-46" ', ""),
    "a number that is none": WHOLE.replace("21-46", "21-x"),
    "an odd escape": WHOLE.replace("\\n", "\\q"),
    "cut off": WHOLE[:-20],
}


def test_what_no_writer_wrote_is_refused():
    for text in FOREIGN.values():
        with pytest.raises(ValueError):  # noqa: PT011 - whatever it says, it is refused
            xml_messages.read_messages(text)


def test_an_exported_debate_parses_and_has_every_message():
    table = opened(2)
    course = table.course
    debate = xml_messages.XmlDebate(
        *("7f3a9c21", "Head & methods", table.question, table.options, course.seats, table.documents),
        digests={"A1": "ab" * 32},
        messages=[whole(), XmlNote("7f3a9c21", 47, AT, "Timekeeper", "reminder", 44)],
        outcome="HIRE",
    )
    root = ElementTree.fromstring(xml_messages.write_debate(debate))
    assert [
        child.tag for child in root
    ] == "Title Question Options Members Documents Alone Messages Acts Outcome".split()
    assert [one.attrib["id"] for one in root.find("Messages")] == ["7f3a9c21-46", "7f3a9c21-47"]
    assert root.find("Documents")[0].attrib == {"id": "A1", "lines": "24", "sha256": "ab" * 32}
    assert [one.text for one in root.find("Members")] == ["Timekeeper", "Ilse Brandt", "Rajiv Menon"]
