"""Each column of each row of an inquiry is changed in turn: it is noticed, or named as no evidence."""

import asyncio

import pytest
from django.apps import apps

from engine.audit.full_verification import verify_all
from inquiries import comments
from inquiries.models import Assignment, AssignmentKind, Inquiry, InquirySource
from tests.columns import faults, turned
from tests.conftest import perform
from tests.databases import tampering
from tests.inquiries.scenes import LIMIT, answers, calls, final, found, going_well, inquiry, passes, sends_back

pytestmark = pytest.mark.django_db(transaction=True)

NO_EVIDENCE = {
    "inquiries_passage": "finds a text, and is made of it",
    "inquiries_collection": "belongs to the installation; what one looked in is attached to it",
    "inquiries_collectiondocument": "as its collection",
    **dict.fromkeys(
        ("inquiries_roster", "inquiries_rosterversion", "inquiries_rosterchange"),
        "belongs to the installation, with a chain of its own; what one began with is told with it",
    ),
}
TOLD_OTHERWISE = {
    ("inquirysource", "made", "document"): "what is attached from the start is told as that",
    ("inquirymove", "settled", ""): "a hand-in is settled as it is made, and that is told",
}
BETTER = ("The limit of the law is 150.", 1, "a warming potential of 150 or more")
SUM = calls("figures.calculate", expression="6350 - 350")


@pytest.fixture
def two(mira, models):
    """The second was sent back and hinted at, and has worked something out."""
    going_well(models)
    asyncio.run(perform(inquiry(mira).pk, models))
    going_well(models, researcher=[SUM, found(LIMIT), found(BETTER)], critic_researcher=[sends_back(), passes()])
    models.script["test/expert"] = [answers(numbers=[2])]
    models.script["test/finalizer"] = [final("[answer] [claim:3]")]
    row = inquiry(mira)
    comments.post_hint(row.pk, mira, AssignmentKind.HINT, "Look at the law.")
    asyncio.run(perform(row.pk, models))
    return row


def test_a_change_of_any_column_is_noticed_or_named(two):
    assert not verify_all().faults
    unseen = []
    with tampering():
        for model in apps.get_app_config("inquiries").get_models():
            if model._meta.db_table not in NO_EVIDENCE:
                unseen += [one for row in some(model, two) for one in changed(row, two)]
    assert (unseen, verify_all().faults) == ([], [])


def some(model, of):
    """Rows of the second: of orders, moves and sources one of each kind."""
    path = {"inquiry": "pk", "claimquote": "claim__inquiry"}.get(model._meta.model_name, "inquiry")
    rows = model.objects.filter(**{path: of.pk}).order_by("pk")
    kind = {Assignment: "kind", InquirySource: "kind"}.get(model, "pk" if model is Inquiry else None)
    return list({getattr(one, kind): one for one in rows}.values()) if kind else [rows.last(), rows.first()]


def changed(row, of):
    kind = getattr(row, "kind", getattr(row, "tool", None))
    for column, change in turned(row):
        if (row._meta.model_name, column, kind) not in TOLD_OTHERWISE and not faults(of.pk):
            yield f"{row._meta.model_name}.{column} of {row}: {change}"
