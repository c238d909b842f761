"""Frequent reads and writes with cached SQL.

Django builds the text of a statement each time, which takes several times as long as the database does. Here it is
cached by table and columns. Values still pass through Django's fields where the two databases store them
differently, and errors are Django's. Signals and relation checks are left out, because none of these tables has
any.

Why so: engine/DESIGN.md, Runs, the queue and the writer.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models.expressions import DatabaseDefault

Row = TypeVar("Row", bound=models.Model)
Key = UUID | int | str

PLAIN_TYPES = (models.CharField, models.TextField, models.IntegerField, models.BooleanField, models.FloatField)
"""Fields whose values go to both databases as they are in Python."""


def insert(row: Row) -> Row:
    """As `save(force_insert=True)`. Sets the key if the database assigns it."""
    database = _database()
    sql, columns = _insertion(type(row), database.vendor)
    cursor = _execute(database, sql, columns.values_of(row, database))
    row.pk = row.pk or _given_key(database, cursor)
    row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS
    return row


def bulk_insert(rows: Iterable[models.Model]) -> None:
    """Insert these rows of one table in one statement. Keys that the database assigns are not read back."""
    rows = list(rows)
    if rows:
        database = _database()
        sql, columns = _insertion_of_many(type(rows[0]), len(rows), database.vendor)
        _execute(database, sql, [value for row in rows for value in columns.values_of(row, database)])


def update(model: type[models.Model], pk: Any, **values: Any) -> bool:
    """As `filter(pk=pk).update(...)` with plain values. Returns whether the row exists."""
    database = _database()
    sql, columns = _change(model, tuple(values), database.vendor)
    given = zip(columns, (*values.values(), pk), strict=True)
    return bool(_execute(database, sql, [column.stored(value, database) for column, value in given]).rowcount)


def select(
    model: type[models.Model], by: str, keys: Sequence[Key], columns: Sequence[str], *order: str
) -> list[tuple[Any, ...]]:
    """As `filter(by__in=keys).order_by(*order).values_list(*columns)`, with values as the driver returns them."""
    if not keys:
        return []
    database = _database()
    selection = _selection(model, by, len(keys), _kind_of(keys), tuple(columns), order, database.vendor)
    return _found(database, selection, keys)


def fetch(model: type[Row], by: str, keys: Sequence[Key], *order: str, without: tuple[str, ...] = ()) -> list[Row]:
    """As `filter(by__in=keys).order_by(*order).defer(*without)`."""
    if not keys:
        return []
    database = _database()
    selection = _selection(model, by, len(keys), _kind_of(keys), (), order, database.vendor, without)
    return [_made(model, selection, row, database) for row in _found(database, selection, keys)]


def fetch_after(model: type[Row], by: str, key: Key, column: str, last: int) -> list[Row]:
    """As `filter(by=key, column__gt=last).order_by(column)`."""
    database = _database()
    selection = _selection(model, by, 1, _kind_of([key]), (), (column,), database.vendor, after=column)
    return [_made(model, selection, row, database) for row in _found(database, selection, [key], last)]


def group_by_column(rows: Iterable[Row], column: str) -> defaultdict[Any, list[Row]]:
    """Return the rows by their value in the column, in order; an empty list for other values."""
    found = defaultdict[Any, list[Row]](list)
    for row in rows:
        found[getattr(row, column)].append(row)
    return found


def freeze_row(row: Any, **lists: Sequence[Any]) -> None:
    """Set what `row.NAME.all()` returns, as if it were prefetched. No other query on these relations is possible."""
    row._prefetched_objects_cache = {**getattr(row, "_prefetched_objects_cache", {}), **lists}


class CompiledQuery:
    """A query with cached SQL; rows are as the driver returns them.

    The parameters it was built with are placeholders for later ones: `rows({placeholder: value})`.
    """

    def __init__(self, rows: models.QuerySet[Any, tuple[Any, ...]]) -> None:
        sql, self._params = rows.query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
        self._sql = _of_driver(sql, _database().vendor)

    def rows(self, instead: Mapping[int | str, Any] = MappingProxyType({})) -> list[tuple[Any, ...]]:
        params = [instead[one] if isinstance(one, int | str) and one in instead else one for one in self._params]
        return _rows(_database(), self._sql, params)


def exists(model: type[models.Model], by: str, keys: Sequence[Key], **alike: str) -> bool:
    """As `filter(by__in=keys, **alike).exists()`: a cheap check before an expensive query for rare rows."""
    if not keys:
        return False
    database = _database()
    sql, constants = _any(model, by, len(keys), _kind_of(keys), tuple(alike.items()), database.vendor)
    return _execute(database, sql, [*_as_stored(keys, database), *constants]).fetchone() is not None


def execute(sql: str, params: Sequence[Any]) -> int:
    """Execute a statement with %s placeholders; return the number of rows that it changed."""
    database = _database()
    return int(_execute(database, _of_driver(sql, database.vendor), params).rowcount)


def first(sql: str, params: Sequence[Any] = ()) -> tuple[Any, ...] | None:
    """Return the first row of a statement with %s placeholders; None if there is none."""
    database = _database()
    found: tuple[Any, ...] | None = _execute(database, _of_driver(sql, database.vendor), params).fetchone()
    return found


def to_db(key: Key) -> Key:
    return _as_stored([key], _database())[0]


def from_db(stored: str | UUID) -> UUID:
    return stored if isinstance(stored, UUID) else UUID(stored)


# ---- texts ------------------------------------------------------------------------------------------------


class _Column(NamedTuple):
    field: Any
    as_it_is: bool
    moves: bool  # says itself what it holds when its row is saved

    @property
    def is_plain(self) -> bool:
        return self.as_it_is and not self.moves and not self.field.has_db_default()

    def stored(self, value: Any, database: Any) -> Any:
        if self.as_it_is or value is None:
            return value
        if database.vendor == "sqlite":  # what both databases do with a moment and a key, without asking each time
            if type(value) is UUID:
                return value.hex
            if type(value) is datetime and value.tzinfo is UTC:
                return str(value.replace(tzinfo=None))
        return self.field.get_db_prep_save(value, database)

    def stored_of(self, row: models.Model, database: Any) -> Any:
        value: Any = self.field.pre_save(row, True) if self.moves else getattr(row, self.field.attname)
        return self.field.db_default if isinstance(value, DatabaseDefault) else self.stored(value, database)


class _Columns(NamedTuple):
    """The columns of a whole row. Most values are read at once and need no conversion."""

    read: Callable[[models.Model], tuple[Any, ...]]
    others: tuple[tuple[int, _Column], ...]  # which to look at, and where they stand

    def values_of(self, row: models.Model, database: Any) -> list[Any]:
        values = [*self.read(row)]
        for place, column in self.others:
            values[place] = column.stored_of(row, database)
        return values


class _Selection(NamedTuple):
    sql: str
    columns: tuple[str, ...]
    conversions: tuple[tuple[int, Any, Any], ...]  # by which functions, of which column, and as what


@lru_cache(maxsize=64)
def _insertion(model: type[models.Model], vendor: str) -> tuple[str, _Columns]:
    sql, columns = _insertion_of_many(model, 1, vendor)
    key = model._meta.pk
    returning = isinstance(key, models.AutoField) and _returns_keys(_database())
    return f"{sql} RETURNING {_quoted(key.column)}" if returning else sql, columns


@lru_cache(maxsize=256)
def _insertion_of_many(model: type[models.Model], number: int, vendor: str) -> tuple[str, _Columns]:
    fields = [field for field in model._meta.local_concrete_fields if not isinstance(field, models.AutoField)]
    names, places = ", ".join(_quoted(field.column) for field in fields), ", ".join(["%s"] * len(fields))
    rows = ", ".join([f"({places})"] * number)
    sql = f"INSERT INTO {_quoted(model._meta.db_table)} ({names}) VALUES {rows}"  # noqa: S608 - our names
    others = tuple((place, one) for place, one in enumerate(_columns(fields)) if not one.is_plain)
    return _of_driver(sql, vendor), _Columns(attrgetter(*(field.attname for field in fields)), others)


@lru_cache(maxsize=64)
def _change(model: type[models.Model], names: tuple[str, ...], vendor: str) -> tuple[str, tuple[_Column, ...]]:
    columns, key = _columns(model._meta.get_field(name) for name in names), model._meta.pk
    changes = ", ".join(f"{_quoted(one.field.column)} = %s" for one in columns)
    sql = f"UPDATE {_quoted(model._meta.db_table)} SET {changes} WHERE {_quoted(key.column)} = %s"  # noqa: S608
    return _of_driver(sql, vendor), (*columns, *_columns([key]))


@lru_cache(maxsize=256)
def _selection(
    model: type[models.Model],
    by: str,
    number: int,
    kind: type[Any],
    columns: tuple[str, ...],
    order: tuple[str, ...],
    vendor: str,
    without: tuple[str, ...] = (),
    after: str = "",
) -> _Selection:
    rows = _those(model, by, number, kind).order_by(*order).defer(*without)
    rows = rows.filter(**{f"{after}__gt": 0}) if after else rows
    compiler = (rows.values_list(*columns) if columns else rows).query.get_compiler(DEFAULT_DB_ALIAS)
    sql, _ = compiler.as_sql()
    read = [expression for expression, _, _ in compiler.select]
    conversions = tuple((place, *found) for place, found in compiler.get_converters(read).items())
    return _Selection(_of_driver(sql, vendor), columns or tuple(one.target.attname for one in read), conversions)


@lru_cache(maxsize=256)
def _any(
    model: type[models.Model], by: str, number: int, kind: type[Any], alike: tuple[tuple[str, str], ...], vendor: str
) -> tuple[str, tuple[Any, ...]]:
    rows = _those(model, by, number, kind).filter(**dict(alike)).order_by().values_list(by)[:1]
    sql, params = rows.query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
    return _of_driver(sql, vendor), params[number:]


def _those(model: type[models.Model], by: str, number: int, kind: type[Any]) -> models.QuerySet[Any]:
    """Return a query for this number of keys, with placeholders of the right type."""
    keys = [UUID(int=place) if kind is UUID else kind(place) for place in range(number)]
    return model._default_manager.filter(**{f"{by}__in": keys})


def _kind_of(keys: Sequence[Key]) -> Any:
    return type(keys[0])


def _columns(fields: Iterable[Any]) -> tuple[_Column, ...]:
    return tuple(_Column(field, isinstance(field, PLAIN_TYPES), _moves(field)) for field in fields)


def _moves(field: Any) -> bool:
    return bool(getattr(field, "auto_now", False) or getattr(field, "auto_now_add", False))


def _quoted(name: str | None) -> str:
    return connections[DEFAULT_DB_ALIAS].ops.quote_name(str(name))


@lru_cache(maxsize=512)
def _of_driver(sql: str, vendor: str) -> str:
    return sql.replace("%s", "?").replace("%%", "%") if vendor == "sqlite" else sql


# ---- the database -----------------------------------------------------------------------------------------


def _database() -> Any:
    return connections[DEFAULT_DB_ALIAS]


def _returns_keys(database: Any) -> bool:
    return bool(database.features.can_return_columns_from_insert)


def _execute(database: Any, sql: str, params: Sequence[Any]) -> Any:
    """Execute with the driver, in Django's transaction. Goes through Django's cursor if wrappers or query logging are
    on.
    """
    if database.connection is None:
        database.ensure_connection()
    if database.needs_rollback:
        database.validate_no_broken_transaction()
    if database.execute_wrappers or database.queries_logged:
        return _seen(database, sql, params)
    try:
        return database.connection.execute(sql, params)
    except database.Database.Error:
        with database.wrap_database_errors:
            raise


def _rows(database: Any, sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    cursor = _execute(database, sql, params)
    try:
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    except database.Database.Error:  # SQLite reads on only now
        with database.wrap_database_errors:
            raise
    return rows


def _seen(database: Any, sql: str, params: Sequence[Any]) -> Any:
    cursor = database.cursor()
    cursor.execute(sql.replace("%", "%%").replace("?", "%s") if database.vendor == "sqlite" else sql, params)
    return cursor


def _given_key(database: Any, cursor: Any) -> Any:
    return cursor.fetchone()[0] if _returns_keys(database) else cursor.lastrowid


# ---- rows -------------------------------------------------------------------------------------------------


def _as_stored(keys: Sequence[Key], database: Any) -> list[Key]:
    if database.vendor == "sqlite" and isinstance(keys[0], UUID):
        return [cast(UUID, key).hex for key in keys]
    return list(keys)


def _found(database: Any, selection: _Selection, keys: Sequence[Key], *more: int) -> list[tuple[Any, ...]]:
    return _rows(database, selection.sql, [*_as_stored(keys, database), *more])


def _made(model: type[Row], selection: _Selection, row: Sequence[Any], database: Any) -> Row:
    values = list(row)
    for place, functions, expression in selection.conversions:
        for function in functions:
            values[place] = function(values[place], expression, database)
    return model.from_db(DEFAULT_DB_ALIAS, selection.columns, values)
