"""What is attached to a debate: by each door, in prompts, and once it is erased."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import Error as DBError
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from debates.attachments import TAMPERED_TEXT, DebateAttachments, sign_attachments
from debates.models import DOCUMENTS, Debate, Panel
from debates.models.context_builder import build_prompt_context
from debates.prompts.member_history import case_material
from engine.audit.verification import verify_one
from engine.ledger.entries import AuditEntry
from engine.models import Document, Run
from runs import run_actions
from runs.record.redaction import redact_due, redact_run
from tests.callers import API, ApiCaller, fields, problem
from tests.databases import tampering
from tests.toolbox.pdfs import CV, SCANNED, SLOW, UNPACKING, encrypted
from toolbox import documents
from toolbox.openers import LATE

from .test_endpoints import ASKED
from .test_new import NEW, WRITTEN
from .test_panels import posts

__all__ = ["posts"]

pytestmark = pytest.mark.django_db
LETTER = b"Dear all,\n\nshe led the imaging group for nine years.\n"


def file(name: str = "letter.md", data: bytes = LETTER) -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data)


def attached(page: Client, *files: SimpleUploadedFile, **more: str):
    """What the page shows after these were attached to it."""
    return page.post(NEW, {**WRITTEN, "documents": list(files), "do": "add-document", **more})


def tokens(answer) -> dict[str, str]:
    return {f"d{one['number']}": one["token"] for one in answer.context["documents"]}


# ---- on the page ----------------------------------------------------------------------------------------------


def test_a_file_is_shown_line_by_line_before_anything_is_stored(page: Client):
    answer = attached(page, file())
    (shown,) = answer.context["documents"]
    assert (shown["label"], shown["document"].lines[2]) == ("A1", "she led the imaging group for nine years.")
    assert "she led the imaging group" in answer.content.decode()
    assert not Document.objects.exists()
    assert answer.context["form"]["question"].value() == WRITTEN["question"]


def test_what_was_shown_is_attached_with_what_comes_last(page: Client):
    before = attached(page, file())
    paste = {"paste_title": "Her plan", "paste": "Two microscopes.\r\nEleven people."}
    page.post(NEW, {**WRITTEN, **tokens(before), **paste, "documents": [file("table.csv", b"a;b\n1;2\n")]})
    run = Debate.objects.get().run
    assert [(one.label, one.title, one.kind) for one in run.documents.all()] == [
        ("A1", "letter.md", "markdown"),
        ("A2", "table.csv", "csv"),
        ("A3", "Her plan", "text"),
    ]
    assert run.documents.get(number=3).lines == ["Two microscopes.", "Eleven people."]


def test_a_page_keeps_the_encoding_that_was_named_in_it(page: Client):
    answer = attached(page, file("brief.txt", "Müller".encode("cp1252")), encoding="windows-1252")
    assert [one["document"].title for one in answer.context["documents"]] == ["brief.txt (Windows-1252)"]
    assert 'value="windows-1252"></div>' in answer.content.decode()


def test_one_is_taken_away_and_the_others_move_up(page: Client):
    before = tokens(attached(page, file("one.md"), file("two.md")))
    after = page.post(NEW, {**WRITTEN, **before, "do": "remove-document-1"}).context["documents"]
    assert [(one["label"], one["document"].title) for one in after] == [("A1", "two.md")]


UNREADABLE = (
    (
        ("broken.pdf", b"%PDF-1.7 nothing", "broken.pdf is broken"),
        ("picture.pdf", SCANNED, "picture.pdf has no text, only pictures"),
        ("locked.pdf", encrypted(CV, "secret"), "locked.pdf asks for a password"),
        ("bomb.pdf", UNPACKING, "bomb.pdf unpacks to more than can be read"),
    ),
    (
        ("picture.png", b"\x89PNG\0\0", "picture.png is neither text in UTF-8 nor a PDF"),
        ("empty.txt", b" \n", "empty.txt is empty"),
        ("long.txt", b"word " * 12_001, "60,000 are the most"),
        ("large.txt", b"x" * (DOCUMENTS.size + 1), "large.txt has 2.0 MB"),
    ),
)


@pytest.mark.parametrize("files", UNREADABLE, ids=["of PDF", "of others"])
def test_what_cannot_be_read_is_named_and_nothing_else_is_lost(page: Client, files: tuple[tuple[str, bytes, str], ...]):
    sent = [file(), *(file(name, data) for name, data, _ in files)]
    answer = page.post(NEW, {**WRITTEN, "documents": sent, "paste": "Mine."})
    told = str(answer.context["problems"])
    assert [said for _, _, said in files if said not in told] == []
    assert [one["document"].title for one in answer.context["documents"]] == ["letter.md", "Pasted text"]
    assert answer.context["members"][0]["name"].value() == "Amara Osei"
    assert not Debate.objects.exists()


def test_a_pasted_text_that_cannot_be_read_stays_where_it_was_typed(page: Client):
    answer = attached(page, paste="x" * 60_001, paste_title="Too long")
    assert (answer.context["pasted"].title, len(answer.context["pasted"].text)) == ("Too long", 60_001)
    assert answer.context["documents"] == []


def test_of_nine_files_eight_are_attached_and_it_is_said_once(page: Client):
    answer = attached(page, *(file(f"{number}.txt") for number in range(11)))
    assert len(answer.context["documents"]) == 8
    assert [problem.message for problem in answer.context["problems"]] == [
        "Attach at most 8 documents. Leave out the others."
    ]


def test_of_many_unreadable_files_no_more_are_read_than_may_be_attached():
    read, files = DebateAttachments(), [file(f"{number}.txt", b"\0") for number in range(12)]
    read.add_files(files)
    assert [one.tell() > 0 for one in files] == [True] * 8 + [False] * 4
    assert [problem.message for problem in read.problems][8:] == ["Attach at most 8 documents. Leave out the others."]


def test_endless_ones_have_one_end_for_all_of_them(monkeypatch):
    monkeypatch.setattr("toolbox.documents.TOGETHER", 0.5)
    ends, read_one = [], documents.read_document
    monkeypatch.setattr(documents, "read_document", lambda *asked: ends.append(asked[3]) or read_one(*asked))
    read = DebateAttachments()
    read.add_files([file(f"{number}.pdf", SLOW) for number in range(3)])
    assert [problem.message for problem in read.problems] == [f"{number}.pdf {LATE}" for number in range(3)]
    assert (len(ends), len(set(ends))) == (3, 1)


@pytest.mark.parametrize("whose", ["another", None])
def test_what_a_page_kept_comes_back_only_to_whom_it_was_shown(page: Client, whose: str | None):
    read = DebateAttachments()
    read.add_files([file()])
    (token,) = sign_attachments(read.documents, whose)
    answer = page.post(NEW, {**WRITTEN, "d1": token if whose else "nonsense"})
    assert [problem.message for problem in answer.context["problems"]] == [TAMPERED_TEXT]
    assert not Debate.objects.exists()


def test_documents_are_a_part_of_what_it_may_cost(page: Client, settings):
    settings.PROVIDERS = {"paid": {"base_url": "http://127.0.0.1:9/v1", "api_key": "", "prices": {"*": (1, 1)}}}
    asked = WRITTEN | {f"m{n}-model": "paid/x" for n in (1, 2, 3)}
    more = tokens(attached(page, file("long.txt", b"words " * 9_000)))
    costs = [page.post("/debates/cost/", asked | some).context["estimate"].cost for some in ({}, more)]
    assert costs[1] > costs[0] * 2


# ---- by other doors -------------------------------------------------------------------------------------------


def sent(calls: ApiCaller, asked: dict, *files: SimpleUploadedFile, **headers: str):
    """As a program sends files: in parts beside one with the fields."""
    parts = {"debate": json.dumps(asked), "documents": list(files)}
    return calls.client.post(f"{API}/debates", parts, headers=headers)


def test_a_program_sends_texts(mira_calls: ApiCaller):
    found = mira_calls.post("/debates", {**ASKED, "documents": [{"title": "Letter", "text": "One.\nTwo."}]}).json()
    (document,) = found["documents"]
    assert (document["id"], document["title"], document["kind"], document["lines"]) == ("A1", "Letter", "text", 2)


def test_a_program_sends_files_beside_its_fields(mira_calls: ApiCaller):
    answer = sent(mira_calls, {**ASKED, "documents": [{"text": "Mine."}]}, file(), file("cv.pdf", CV))
    assert answer.status_code == 202
    assert [one["title"] for one in answer.json()["documents"]] == ["Pasted text", "letter.md", "cv.pdf"]


def test_a_program_names_the_encoding_of_its_files(mira_calls: ApiCaller):
    letter = file("brief.txt", "Müller".encode("cp1252"))
    assert "is not in UTF-8" in fields(sent(mira_calls, ASKED, letter))["documents"]
    letter.seek(0)
    found = sent(mira_calls, {**ASKED, "encoding": "windows-1252"}, letter).json()
    assert [one["title"] for one in found["documents"]] == ["brief.txt (Windows-1252)"]


def test_what_a_program_sends_and_nobody_can_read_is_named(mira_calls: ApiCaller):
    assert fields(mira_calls.post("/debates", {**ASKED, "documents": [{"text": "a"}, {"text": " "}]})) == {
        "documents.1": "Pasted text is empty. Leave it out, or attach what it should have been."
    }
    assert "scan.pdf has no text" in fields(sent(mira_calls, ASKED, file("scan.pdf", SCANNED)))["documents"]
    assert not Document.objects.exists()


def test_another_file_under_the_same_key_is_another_request(mira_calls: ApiCaller):
    key = {"Idempotency-Key": "once"}
    first, again = (sent(mira_calls, ASKED, file(), **key).json()["id"] for _ in range(2))
    assert first == again
    problem(sent(mira_calls, ASKED, file(data=b"Another."), **key), 422)


def test_files_without_the_part_of_the_fields_are_refused(mira_calls: ApiCaller):
    problem(mira_calls.client.post(f"{API}/debates", {"documents": file()}), 400)
    problem(mira_calls.client.post(f"{API}/judgements", {"judgement": "{}", "documents": file()}), 415)


def test_the_command_attaches_files(posts: Panel, tmp_path):
    letter, table = tmp_path / "letter.md", tmp_path / "table.csv"
    letter.write_bytes(LETTER)
    table.write_text("a,b\n1,2\n")
    call_command("debate", "Hire?", document=[str(letter), str(table)], no_wait=True, stdout=StringIO())
    assert [one.title for one in Debate.objects.get().run.documents.all()] == ["letter.md", "table.csv"]


# ---- in the debate --------------------------------------------------------------------------------------------


@pytest.fixture
def with_letter(page: Client) -> Debate:
    page.post(NEW, {**WRITTEN, "documents": [file()]})
    return Debate.objects.with_messages().get()


def test_members_read_its_lines_with_their_numbers(with_letter: Debate):
    read = case_material(build_prompt_context(with_letter, with_letter.state()))
    assert '<Document id="A1" title="letter.md">' in read
    assert "3: she led the imaging group for nine years." in read


def test_it_is_sealed_when_it_is_submitted_and_erased_on_redaction(with_letter: Debate, mira):
    pk = with_letter.pk
    sealed = json.loads(AuditEntry.objects.get(run=pk, kind="submitted").line)
    assert sealed["facts"]["documents"] == [{"number": 1, "kind": "markdown"}]
    assert {"title of A1", "text of A1", "digest of A1"} <= sealed["texts"].keys()
    run_actions.cancel(with_letter, mira)
    redact_run(pk, "mira", "It was private.")
    assert list(Document.objects.filter(run=pk).values_list("title", "text", "digest")) == [("", "", "")]
    assert [str(fault) for fault in verify_one(pk)[2]] == []


def test_its_page_and_record_show_it(page: Client, with_letter: Debate):
    for name in ("debate-live", "debate-record"):
        html = page.get(reverse(name, args=[with_letter.pk])).content.decode()
        assert "letter.md" in html
        assert "she led the imaging group for nine years." in html


def test_no_row_has_a_word_of_it_any_more(with_letter: Debate, mira):
    run_actions.cancel(with_letter, mira)
    assert "imaging group" in rows()
    redact_run(with_letter.pk, "mira", "It was private.")
    assert "imaging group" not in rows()
    assert "letter.md" not in rows()


def rows() -> str:
    """All that the tables hold, as one text."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if table.startswith(("engine_", "debates_", "runs_")) and "runs_words" not in table:
                cursor.execute(f'SELECT * FROM "{table}"')
                found.append(str(cursor.fetchall()))
    return "\n".join(found)


def test_the_database_keeps_its_lines_and_verification_finds_what_was_changed(with_letter: Debate):
    with pytest.raises(DBError), transaction.atomic():
        Document.objects.filter(run=with_letter.pk).update(text="He led it.")
    with tampering():
        Document.objects.filter(run=with_letter.pk).update(text="He led it.")
    assert any("text of A1" in str(fault) for fault in verify_one(with_letter.pk)[2])


@pytest.mark.django_db(transaction=True)  # PostgreSQL clears up outside of a transaction
def test_they_go_when_the_time_of_the_panel_is_over(page: Client, posts: Panel, mira):
    page.post(NEW, {**WRITTEN, "panel": str(posts.pk), "documents": [file()]})
    debate = Debate.objects.get()
    run_actions.cancel(debate, mira)
    with tampering():
        Run.objects.filter(pk=debate.pk).update(ended=timezone.now() - timedelta(days=400))
    while redact_due():
        pass
    assert [one.text for one in Document.objects.filter(run=debate.pk)] == [""]
