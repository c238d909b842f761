"""Everything that a database's schema says, as one sorted list, in which two databases can be compared."""

import os
import re

import django
from django.db import connections

POSTGRESQL = """
    SELECT concat_ws(' ', 'column', table_name, column_name, data_type, character_maximum_length, is_nullable,
                     column_default, is_identity, generation_expression)
    FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype <> 'n'
    UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
    UNION ALL SELECT concat_ws(' ', 'storage', attrelid::regclass, attname, attstorage) FROM pg_attribute
    JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
"""
SQLITE = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"


# names that are made up of table and column: a table that was renamed keeps them
OWN_NAME = re.compile(r'"?\w+_(?:pkey|id_key|[0-9a-f]{8}(?:_like|_uniq|_fk(?:_\w+)?)?)"?(?!\w)')

# what a dump was made of says the same with other casts
CASTS = re.compile(r"::(?:character varying|text)(?:\[\])?|[()]")


def schema(alias: str = "default") -> list[str]:
    connection = connections[alias]
    with connection.cursor() as cursor:
        cursor.execute(SQLITE if connection.vendor == "sqlite" else POSTGRESQL)
        rows = cursor.fetchall()
    if connection.vendor == "sqlite":
        lines = [line for row in rows for line in _lines(*row)]
    else:
        lines = [line for (line,) in rows]
    return sorted(CASTS.sub("", OWN_NAME.sub("*", line)) for line in lines)


def _lines(kind: str, name: str, sql: str | None) -> list[str]:
    """Columns stand in the order in which they came; a table that was made anew has its name in quotes."""
    if kind != "table" or sql is None or sql.startswith("CREATE VIRTUAL"):
        return [f"{kind} {name} {sql}"]
    inside = sql[sql.index("(") + 1 : sql.rindex(")")]
    return [f"{kind} {name} {part}" for part in _parts(inside)]


def _parts(inside: str) -> list[str]:
    parts, depth = [""], 0
    for sign in re.findall(r"'(?:[^']|'')*'|.", inside, re.DOTALL):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [" ".join(part.split()) for part in parts]


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "magi_site.settings")
    django.setup()
    print("\n".join(schema()))


if __name__ == "__main__":
    main()
