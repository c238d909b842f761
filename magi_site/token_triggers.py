"""A disabled account's tokens end for good, whoever disables it and however: the database itself revokes them.

A program that looked when it is called would not see an account that was disabled and enabled again meanwhile. A
migration of ours that makes one of the two tables anew (on SQLite most changes of a column do) has to `lift` this
trigger before and to `install` it after; where one of Django's own did, it is put up again after all migrations.
"""

from typing import Any

NAME = "auth_user_disabled"
TRIGGER_CONDITION = "OLD.is_active AND NOT NEW.is_active"
REVOKE = "UPDATE magi_site_token SET revoked = {} WHERE owner_id = NEW.id AND revoked IS NULL"
MOMENT = "strftime('%Y-%m-%d %H:%M:%f', 'now')"  # as Django writes one
SQLITE = [
    f"CREATE TRIGGER {NAME} AFTER UPDATE OF is_active ON auth_user WHEN {TRIGGER_CONDITION} "
    f"BEGIN {REVOKE.format(MOMENT)}; END"
]
POSTGRESQL = [
    f"""DO $make$ BEGIN EXECUTE format(
        'CREATE OR REPLACE FUNCTION {NAME}() RETURNS trigger LANGUAGE plpgsql SET search_path = %I, pg_temp AS %L',
        current_schema(), 'BEGIN {REVOKE.format("now()")}; RETURN NULL; END'); END $make$""",
    f"""CREATE TRIGGER {NAME} AFTER UPDATE OF is_active ON auth_user FOR EACH ROW WHEN ({TRIGGER_CONDITION})
        EXECUTE FUNCTION {NAME}()""",
]
EXISTS_SQL = {
    "sqlite": "SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND name = %s AND tbl_name = 'auth_user'",
    "postgresql": "SELECT 1 FROM pg_trigger WHERE tgname = %s AND tgrelid = 'auth_user'::regclass",
}


def install_trigger(connection: Any) -> None:
    remove_trigger(connection)
    with connection.cursor() as cursor:
        for statement in SQLITE if connection.vendor == "sqlite" else POSTGRESQL:
            cursor.execute(statement)


def install_if_missing(connection: Any) -> None:
    """Nothing where the tokens are not there, or not yet as it needs them."""
    with connection.cursor() as cursor:
        if "magi_site_token" not in connection.introspection.table_names(cursor):
            return
        cursor.execute("SELECT * FROM magi_site_token LIMIT 0")
        columns = {column[0] for column in cursor.description}
        cursor.execute(EXISTS_SQL[connection.vendor], [NAME])
        there = cursor.fetchone()
    if "scopes" in columns and not there:  # as of the migration that first puts it up
        install_trigger(connection)


def remove_trigger(connection: Any) -> None:
    with connection.cursor() as cursor:
        on_table = "" if connection.vendor == "sqlite" else " ON auth_user"
        cursor.execute(f"DROP TRIGGER IF EXISTS {NAME}{on_table}")
