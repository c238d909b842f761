"""Reads a CSV as a table, and runs one SELECT on it in an in-memory SQLite database with an authorizer.

Why so: toolbox/DESIGN.md, Tables.
"""

import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from engine.models.documents import LINE_LENGTH
from engine.plurals import counted

from .documents import CELLS_APART

NAME = "data"
ROWS, SHOWN, MOST_ROWS, MOST_COLUMNS = 200, 20, 200_000, 100
CELL, LONGEST_SQL, SECONDS = 200, 2_000, 1.0
MAX_VM_STEPS = 10_000  # virtual machine instructions of SQLite between two checks of the time
FUNCTIONS = frozenset(
    "abs avg coalesce count date datetime group_concat ifnull iif instr julianday length like lower ltrim max min "
    "nullif replace round row_number rtrim sign strftime substr substring sum time total trim unicode upper".split()
)
_WHOLE = r"0|[1-9]\d*|[1-9]\d{0,2}(?:(?: \d{3})+|(?:['’]\d{3})+|(?:%s\d{3})+)"
_NUMBER = re.compile(rf"-?(?:{_WHOLE % ','})(?:\.\d+)?")
_WITH_DECIMAL_COMMA = re.compile(rf"-?(?:{_WHOLE % '[.]'})(?:,\d+)?")
_GROUPS = str.maketrans("", "", " '’")  # thousands separators in France and Switzerland
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 1_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: LONGEST_SQL,
    sqlite3.SQLITE_LIMIT_COLUMN: MOST_COLUMNS,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 50,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 10,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


class NotATable(ValueError):
    """The lines are no table, or the SELECT failed; the text says why."""


@dataclass(frozen=True)
class CsvTable:
    """A table. Cells of a column are all numbers (or None if empty), or all text."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def described(self) -> str:
        kinds = (
            "numbers" if any(isinstance(row[at], int | float) for row in self.rows) else "text"
            for at in range(len(self.columns))
        )
        columns = ", ".join(f'"{name}" ({kind})' for name, kind in zip(self.columns, kinds, strict=True))
        lines = list(_written(self.columns, self.rows[:SHOWN]))
        return "\n".join([f"The table {NAME} has {counted(len(self.rows), 'row')}. Its columns: {columns}.", *lines])


def csv_table(lines: Sequence[str]) -> CsvTable:
    """Read the lines of a CSV as `documents` stores them. Raises NotATable."""
    records = list(_records(lines))
    if len(records) < 2:
        raise NotATable("This is no table: it has no row under its columns.")
    columns = _names(records[0])
    if len(columns) > MOST_COLUMNS or len(records) > MOST_ROWS:
        raise NotATable(f"A table has at most {MOST_COLUMNS} columns and {MOST_ROWS:,} rows.")
    wide = [(*record, *[""] * (len(columns) - len(record))) for record in records[1:]]
    for number, record in enumerate(wide, 1):
        if any(record[len(columns) :]):
            found = f"{counted(len(record), 'cell')}, and there are {counted(len(columns), 'column')}"
            raise NotATable(f"Row {number} has {found}. Read its lines, or have the file corrected.")
    cells = list(zip(*(record[: len(columns)] for record in wide), strict=True))
    comma = _has_decimal_commas(cells)
    return CsvTable(tuple(columns), tuple(zip(*(_read(one, comma) for one in cells), strict=True)))


def _records(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the records; lines that `documents` broke because of their length are joined again."""
    columns, whole = 0, ""
    for at, line in enumerate(lines):
        whole = f"{whole} {line}" if whole else line
        follows = lines[at + 1].partition(" ")[0] if at + 1 < len(lines) else ""
        cells = f"{whole} ".split(CELLS_APART)  # lines are stripped, so an empty last cell has lost a space
        if follows and len(line) + 1 + len(follows) > LINE_LENGTH and len(cells) < (columns or MOST_COLUMNS):
            continue
        if whole.strip():
            columns = columns or len(cells)
            yield [cell.strip() for cell in cells]
        whole = ""


def _names(cells: Sequence[str]) -> list[str]:
    """Return unique column names that can be quoted in SQL."""
    names: list[str] = []
    for number, cell in enumerate(cells, 1):
        name = " ".join(cell.replace('"', " ").split())[:60] or f"column {number}"
        while name.casefold() in (one.casefold() for one in names):
            name = f"{name} {number}"
        names.append(name)
    return names


def _has_decimal_commas(columns: Iterable[Sequence[str]]) -> bool:
    """Tell whether commas are decimal. A number such as 1.234 is ambiguous, so some column must be readable only with
    decimal commas, and none only with decimal points."""
    fits = [(_all(_NUMBER, one), _all(_WITH_DECIMAL_COMMA, one)) for one in columns]
    return (False, True) in fits and (True, False) not in fits


def _all(pattern: re.Pattern[str], cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(map(pattern.fullmatch, filled))


def _read(cells: Sequence[str], decimal_comma: bool) -> list[Any]:
    points, commas = _all(_NUMBER, cells), _all(_WITH_DECIMAL_COMMA, cells)
    if not points and not commas:
        return list(cells)
    cells = [cell.translate(_GROUPS) for cell in cells]
    if commas and (decimal_comma or not points):
        cells = [cell.replace(".", "").replace(",", ".") for cell in cells]
    return [_number(cell) if cell else None for cell in cells]


def _number(cell: str) -> int | float | str:
    plain = cell.replace(",", "")
    if "." in plain:
        return float(plain)
    return int(plain) if len(plain) < 18 else float(plain)


# ---- queries ----------------------------------------------------------------------------------------------


def run_select(table: CsvTable, sql: str) -> str:
    """Run one SELECT and return its rows as lines, at most ROWS. Raises NotATable with what is wrong."""
    if len(sql) > LONGEST_SQL:
        raise NotATable(f"A question to a table has at most {LONGEST_SQL:,} characters.")
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        _fill(connection, table)
        _confine(connection)
        try:
            cursor = connection.execute(sql)
            names = [one[0] for one in cursor.description or ()]
            found = cursor.fetchmany(ROWS + 1)
        except (sqlite3.Error, sqlite3.Warning, MemoryError) as error:
            raise NotATable(_why(error)) from error
    if not names:
        raise NotATable("A question to a table is one SELECT.")
    lines = list(_written(names, found[:ROWS])) or ["No row fits."]
    return "\n".join([" ".join(sql.split()), *lines, *([f"There are more rows than {ROWS}."] * (len(found) > ROWS))])


def _fill(connection: sqlite3.Connection, table: CsvTable) -> None:
    columns = ", ".join(f'"{name}"' for name in table.columns)
    places = ", ".join("?" * len(table.columns))
    connection.execute(f"CREATE TABLE {NAME} ({columns})")
    connection.executemany(f"INSERT INTO {NAME} VALUES ({places})", table.rows)  # noqa: S608 - a name of ours


def _confine(connection: sqlite3.Connection) -> None:
    ends = time.monotonic() + SECONDS
    for limit, most in _LIMITS.items():
        connection.setlimit(limit, most)
    connection.execute("PRAGMA query_only = ON")
    connection.set_progress_handler(lambda: time.monotonic() > ends, MAX_VM_STEPS)
    connection.set_authorizer(_authorize)


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_READ:
        return sqlite3.SQLITE_DENY if (first or "").startswith(("sqlite_", "pragma_")) else sqlite3.SQLITE_OK
    named = action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in FUNCTIONS
    return sqlite3.SQLITE_OK if named else sqlite3.SQLITE_DENY


def _why(error: BaseException) -> str:
    said = str(error)
    if "interrupted" in said:
        return f"It was stopped after {SECONDS:g} s: ask for less."
    if "not authorized" in said or "prohibited" in said:
        return "That is not allowed here: one SELECT over the table, with the usual functions."
    return f"SQLite says: {said[:300]}." if isinstance(error, sqlite3.Error) else "It takes more memory than it may."


def _written(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield each row with the names of its columns, so that a quote of one line makes sense by itself."""
    for number, row in enumerate(rows, 1):
        cells = (f"{name}: {_cell(value)}" for name, value in zip(names, row, strict=True))
        yield f"Row {number}: {'; '.join(cells)}"


def _cell(value: Any) -> str:
    if value is None:
        return "nothing"
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    return text if len(text) <= CELL else f"{text[: CELL - 1]}…"
