"""Each column of each row of an inquiry is changed in turn: it is noticed, or named as no evidence."""

import asyncio
from datetime import datetime, timedelta

import pytest
from django.apps import apps
from django.db import DatabaseError, transaction
from django.db import models as fields

from engine.evidence.audit import verify_all
from inquiries import talking
from inquiries.models import Inquiry, Order, OrderKind, Source
from tests.conftest import perform
from tests.databases import tampering
from tests.inquiries.scenes import LIMIT, answers, calls, final, found, going_well, inquiry, passes, sends_back

pytestmark = pytest.mark.django_db(transaction=True)

NO_EVIDENCE = {
    "inquiries_passage": "finds a text, and is made of it",
    "inquiries_collection": "belongs to the installation; what one looked in is attached to it",
    "inquiries_collectiondocument": "as its collection",
}
TOLD_OTHERWISE = {
    ("source", "made", "document"): "what is attached from the start is told as that",
    ("move", "settled", ""): "a hand-in is settled as it is made, and that is told",
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
    models.script["test/finalizer"] = [final("It may be sold [claim:3].")]
    row = inquiry(mira)
    talking.say(row.pk, mira, OrderKind.HINT, "Look at the law.")
    asyncio.run(perform(row.pk, models))
    return row


def test_a_change_of_any_column_is_noticed_or_named(two):
    assert not faults()
    unseen = []
    with tampering():
        for model in apps.get_app_config("inquiries").get_models():
            if model._meta.db_table not in NO_EVIDENCE:
                unseen += [one for row in some(model, two) for one in changed(row)]
    assert (unseen, faults()) == ([], [])


def some(model, of):
    """Rows of the second: of orders, moves and sources one of each kind."""
    path = {"inquiry": "pk", "quote": "claim__inquiry"}.get(model._meta.model_name, "inquiry")
    rows = model.objects.filter(**{path: of.pk}).order_by("pk")
    kind = {Order: "kind", Source: "kind"}.get(model, "pk" if model is Inquiry else None)
    return list({getattr(one, kind): one for one in rows}.values()) if kind else [rows.last(), rows.first()]


def changed(row):
    for field in row._meta.concrete_fields:
        if field.primary_key:
            continue
        kind = getattr(row, "kind", getattr(row, "tool", None))
        if (row._meta.model_name, field.attname, kind) in TOLD_OTHERWISE:
            continue
        value = getattr(row, field.attname)
        other = another(field, value, row)
        where = type(row).objects.filter(pk=row.pk)
        if other is not None and other != value:
            if put(where, field, other) and not faults():
                yield f"{row._meta.model_name}.{field.attname} of {row}: {value!r} to {other!r}"
            where.update(**{field.attname: value})


def put(where, field, value):
    """Whether the database takes it: what it refuses is noticed enough."""
    try:
        with transaction.atomic():
            where.update(**{field.attname: value})
    except DatabaseError:
        return False
    return True


def another(field, value, row):
    if isinstance(field, fields.ForeignKey):
        same = field.related_model.objects.exclude(pk=value).exclude(pk__in=taken(field, row))
        return same.order_by("pk").values_list("pk", flat=True).first()
    if isinstance(value, bool):
        return not value
    if isinstance(value, datetime):
        return value + timedelta(seconds=1)
    if isinstance(field, fields.JSONField):
        return {**value, "more": 1} if isinstance(value, dict) else [*value, 1]
    if isinstance(field, fields.DateTimeField | fields.CharField | fields.TextField):
        return None if value is None else f"{value}x"[-(field.max_length or 10**6) :]
    return 1 if value is None else value + 50


def taken(field, row):
    """Those that another row of its kind has, where only one may."""
    return type(row).objects.exclude(**{field.attname: None}).values(field.attname) if field.unique else []


def faults():
    return [str(one) for one in verify_all().faults if one.run]
