"""Every column of a row, one after the other, with another value: whoever keeps a record has to notice each."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db import models as fields

from engine.audit.entries_from_rows import entries_of_chains
from engine.audit.verification import UNREADABLE, _contradictions, _examine, stored_chains


def turned(row: Any) -> Iterator[tuple[str, str]]:
    """Each column by its name while it holds another value, which is said; what the database itself refuses is noticed
    enough. The row is put right before the next one."""
    for field in row._meta.concrete_fields:
        value = getattr(row, field.attname)
        other = None if field.primary_key else another(field, value, row)
        if other is None or other == value:
            continue
        where = type(row).objects.filter(pk=row.pk)
        if _takes(where, field, other):
            yield field.attname, f"{value!r} to {other!r}"
        where.update(**{field.attname: value})


def _takes(where: Any, field: Any, value: Any) -> bool:
    try:
        with transaction.atomic():
            where.update(**{field.attname: value})
    except DatabaseError:
        return False
    return True


def another(field: Any, value: Any, row: Any) -> Any:
    """None where there is no other value that could be there."""
    if isinstance(field, fields.ForeignKey):
        same = field.related_model.objects.exclude(pk=value).exclude(pk__in=_taken(field, row))
        return same.order_by("pk").values_list("pk", flat=True).first()
    if isinstance(value, bool):
        return not value
    if isinstance(value, datetime):
        return value + timedelta(seconds=1)
    if isinstance(field, fields.JSONField):
        return {**value, "more": 1} if isinstance(value, dict) else [*(value or ()), 1]
    if isinstance(field, fields.DateTimeField | fields.CharField | fields.TextField):
        return None if value is None else f"{value}x"[-(field.max_length or 10**6) :]
    return 1 if value is None else value + 50


def _taken(field: Any, row: Any) -> Any:
    """Those that another row of its kind has, where only one may."""
    return type(row).objects.exclude(**{field.attname: None}).values(field.attname) if field.unique else []


def faults(chain: UUID) -> list[Any]:
    """As `verification.verify` finds them, but read once, as nothing else changes meanwhile, and to the first."""
    try:
        said, kept = entries_of_chains([chain]), stored_chains([chain])
        return list(_examine(chain, said[chain], kept[chain])) or _contradictions(said)[chain]
    except UNREADABLE as error:
        return [error]
