"""Files that come with a question: by a program, the page and the command line alike."""

import json
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from engine.models import Document
from inquiries.models import Collection, Inquiry
from tests.callers import API, ApiCaller, fields
from tests.toolbox.files import FILES

pytestmark = pytest.mark.django_db
ASKED = {"question": "Is the leave paid?"}
SENT = ("leave-filled.pdf", "angebot.eml", "umsatz-de.csv")
TITLES = ["leave-filled.pdf", "angebot.eml", "umsatz-de.csv (Windows-1252)"]
SEEN = ("Field “Paid leave”: ticked", "Anzahlung 1.250,50 €", "4400 | 1.234,50 | Büro, Köln")


def sent(calls: ApiCaller, asked: dict[str, str], **headers: str):
    files = [SimpleUploadedFile(name, FILES[name]) for name in SENT]
    return calls.client.post(f"{API}/inquiries", {"inquiry": json.dumps(asked), "documents": files}, headers=headers)


def are_as_people_see_them() -> bool:
    found = Document.objects.order_by("number")
    lacking = [line for one, line in zip(found, SEEN, strict=True) if line not in one.text]
    return [one.title for one in found] == TITLES and not lacking


def test_a_program_sends_files_beside_its_fields(mira_calls: ApiCaller):
    key = {"Idempotency-Key": "once"}
    ids = {sent(mira_calls, {**ASKED, "encoding": "windows-1252"}, **key).json()["id"] for _ in range(2)}
    assert ids == {str(Inquiry.objects.get().pk)}
    assert are_as_people_see_them()


def test_what_a_program_sends_and_nobody_can_read_is_named(mira_calls: ApiCaller):
    assert "umsatz-de.csv is not in UTF-8" in fields(sent(mira_calls, ASKED))["documents"]
    assert set(fields(sent(mira_calls, {**ASKED, "encoding": "latin9000"}))) == {"encoding"}
    assert not Document.objects.exists()


def test_a_page_takes_them_with_the_encoding_that_is_named_in_it(page: Client):
    files = [SimpleUploadedFile(name, FILES[name]) for name in SENT]
    page.post(reverse("inquiry-new"), {**ASKED, "documents": files, "encoding": "windows-1252"})
    assert are_as_people_see_them()


def test_the_command_line_takes_them_too(tmp_path):
    for name in SENT:
        (tmp_path / name).write_bytes(FILES[name])
    files = [str(tmp_path / name) for name in SENT]
    call_command("collection", "Office", add=files, encoding="windows-1252", stdout=StringIO())
    assert sorted(Collection.objects.get().documents.values_list("title", flat=True)) == sorted(TITLES)
    call_command("ask", "Is it?", document=files, encoding="windows-1252", no_wait=True, stdout=StringIO())
    assert are_as_people_see_them()
    with pytest.raises(CommandError, match="There is no encoding “latin9000”"):
        call_command("ask", "Is it?", encoding="latin9000", no_wait=True, stdout=StringIO())
