"""Models know one another by letters, and write them: wherever people read that, the letter stands beside the name."""

import pytest
from django.test import Client
from django.urls import reverse

from judgements import spec
from judgements.management.commands.judge import Command
from judgements.models import Judgement
from judgements.responses import judgement_fields
from runs.procedure.spec import specs

pytestmark = pytest.mark.django_db
NAMED = {"Melchior": "A", "Balthasar": "B", "Casper": "C"}


def test_a_name_has_its_letter_wherever_reasons_are_read(approved_judgement: Judgement, page: Client):
    row = specs()["judgement"].rows().get(pk=approved_judgement.pk)
    texts = {
        "page": page.get(reverse("live", args=[row.pk])).content.decode(),
        "record": page.get(reverse("record", args=[row.pk])).content.decode(),
        "command line": " ".join(text for _, text in Command().new_lines(row)),
        "as a model": spec.chat_answer(judgement_fields(row), row.run.outcome)["reason"],
    }
    missing = [
        (where, name)
        for where, text in texts.items()
        for name, letter in NAMED.items()
        if f"agent {letter}".lower() not in text.partition(name)[2].lower()
    ]
    assert missing == []
