"""What is no evidence of an inquiry itself, or tells of it by a number alone, is held against what is."""

import asyncio

import pytest

from engine.audit.full_verification import verify_all
from engine.models import Document, ModelCall
from inquiries.models import Assignment, ClaimQuote, InquiryClaim, InquiryMove, InquiryRole, InquirySource
from tests.columns import faults
from tests.conftest import perform
from tests.databases import tampering
from tests.inquiries.scenes import going_well, inquiry

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def two(mira, models):
    """Two inquiries that came to an answer, of the same documents."""
    for _ in range(2):
        going_well(models)
        row = inquiry(mira)
        asyncio.run(perform(row.pk, models))
    return row


def changes():
    """Of rows of the second inquiry, to what is the first one's, or nobody's."""
    first = {model: model.objects.order_by("pk").first() for model in (InquirySource, Document, Assignment)}
    other = ModelCall.objects.filter(run=first[InquirySource].inquiry_id, step__startswith="critic").first()
    yield ClaimQuote, {"source_id": first[InquirySource].pk}
    yield InquiryClaim, {"order_id": first[Assignment].pk}
    yield InquirySource, {"document_id": None}
    yield Assignment, {"call_id": None}
    yield InquiryMove, {"call_id": other.pk}
    yield InquiryMove, {"settled": None}
    yield InquiryMove, {"result": "It is so."}
    yield InquiryRole, {"council": "Magi"}
    yield InquiryRole, {"hours": 4}


def test_each_link_to_what_is_of_another_is_found(two):
    unseen = []
    assert not verify_all().faults
    with tampering():
        for model, change in changes():
            row = model.objects.order_by("pk").last()
            before = {name: getattr(row, name) for name in change}
            model.objects.filter(pk=row.pk).update(**change)
            unseen += [] if faults(two.pk) else [(model.__name__, change)]
            model.objects.filter(pk=row.pk).update(**before)
    assert (unseen, verify_all().faults) == ([], [])
