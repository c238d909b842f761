"""Models know one another by letters, and write them: wherever people read that, the letter stands beside the name."""

import pytest
from django.test import Client
from django.urls import reverse

from judgements import as_model
from judgements.api import facts
from judgements.management.commands.judge import Command
from judgements.models import Judgement
from runs.face import faces

pytestmark = pytest.mark.django_db
NAMED = {"Melchior": "A", "Balthasar": "B", "Casper": "C"}


def test_a_name_has_its_letter_wherever_reasons_are_read(approved_judgement: Judgement, page: Client):
    row = faces()["judgement"].rows().get(pk=approved_judgement.pk)
    texts = {
        "page": page.get(reverse("live", args=[row.pk])).content.decode(),
        "record": page.get(reverse("record", args=[row.pk])).content.decode(),
        "command line": " ".join(text for _, text in Command().news(row)),
        "as a model": as_model.said(facts(row), row.run.outcome)["reason"],
    }
    missing = [
        (where, name)
        for where, text in texts.items()
        for name, letter in NAMED.items()
        if f"agent {letter}".lower() not in text.partition(name)[2].lower()
    ]
    assert missing == []
