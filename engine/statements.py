"""What is written and read again and again, by SQL that is made once.

Django makes the text of a statement anew each time, which takes several times as long as the database does. Here it is
kept, by table and columns. Values still go through Django's fields, so that both databases get what they would get
from it; signals and checks of relations are left out, for none of these tables has any.

Why so: docs/decisions.md, Runs, the queue and the writer.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from django.db import connection, models

Row = TypeVar("Row", bound=models.Model)
Fields = tuple[Any, ...]


def insert(row: Row) -> Row:
    """As `save(force_insert=True)`. A key that the database gives is set."""
    sql, fields = _insertion(type(row), connection.vendor)
    with connection.cursor() as cursor:
        cursor.execute(sql, _values(row, fields))
        row.pk = row.pk or _given_key(cursor)
    row._state.adding, row._state.db = False, connection.alias
    return row


def insert_all(rows: Iterable[models.Model]) -> None:
    """All of these, of one table, in one statement. Keys that the database gives are not read back."""
    rows = list(rows)
    if not rows:
        return
    sql, fields = _insertion_of_many(type(rows[0]), len(rows), connection.vendor)
    with connection.cursor() as cursor:
        cursor.execute(sql, [value for row in rows for value in _values(row, fields)])


def update(model: type[models.Model], pk: Any, **values: Any) -> bool:
    """As `filter(pk=pk).update(...)`, with values alone; whether the row is there."""
    sql, fields = _change(model, tuple(values), connection.vendor)
    with connection.cursor() as cursor:
        cursor.execute(sql, _prepared(fields, (*values.values(), pk)))
        return bool(cursor.rowcount)


def execute(sql: str, params: Sequence[Any]) -> int:
    """One statement as it is written here; how many rows it changed."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return int(cursor.rowcount)


def exists(sql: str, params: Sequence[Any] = ()) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchone() is not None


# ---- texts ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _insertion(model: type[models.Model], vendor: str) -> tuple[str, Fields]:
    sql, fields = _insertion_of_many(model, 1, vendor)
    key = model._meta.pk
    returning = isinstance(key, models.AutoField) and connection.features.can_return_columns_from_insert
    return f"{sql} RETURNING {_quoted(key.column)}" if returning else sql, fields


@lru_cache(maxsize=256)
def _insertion_of_many(model: type[models.Model], number: int, vendor: str) -> tuple[str, Fields]:
    fields = tuple(field for field in model._meta.local_concrete_fields if not isinstance(field, models.AutoField))
    columns, places = ", ".join(_quoted(field.column) for field in fields), ", ".join(["%s"] * len(fields))
    rows = ", ".join([f"({places})"] * number)
    return f"INSERT INTO {_quoted(model._meta.db_table)} ({columns}) VALUES {rows}", fields  # noqa: S608 - our names


@lru_cache(maxsize=64)
def _change(model: type[models.Model], names: tuple[str, ...], vendor: str) -> tuple[str, Fields]:
    fields = tuple(model._meta.get_field(name) for name in names)
    changes, key = ", ".join(f"{_quoted(field.column)} = %s" for field in fields), model._meta.pk
    table, where = _quoted(model._meta.db_table), _quoted(key.column)
    return f"UPDATE {table} SET {changes} WHERE {where} = %s", (*fields, key)  # noqa: S608 - our names


def _quoted(name: str | None) -> str:
    return connection.ops.quote_name(str(name))


# ---- values -----------------------------------------------------------------------------------------------


def _values(row: models.Model, fields: Fields) -> list[Any]:
    return [field.get_db_prep_save(field.pre_save(row, True), connection) for field in fields]


def _prepared(fields: Fields, values: Sequence[Any]) -> list[Any]:
    return [field.get_db_prep_save(value, connection) for field, value in zip(fields, values, strict=True)]


def _given_key(cursor: Any) -> Any:
    if connection.features.can_return_columns_from_insert:
        return cursor.fetchone()[0]
    return cursor.lastrowid
