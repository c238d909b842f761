"""The trigger by which the database revokes the tokens of an account that is disabled.

A check at each call would miss an account that was disabled and enabled again in between. A migration that rebuilds one
of the two tables (as most changes of a column do on SQLite) must call `remove_trigger` before and `install_trigger`
after. Migrations of Django do not; `install_if_missing` runs after all migrations.
"""

from typing import Any

NAME = "auth_user_disabled"
TRIGGER_CONDITION = "OLD.is_active AND NOT NEW.is_active"
REVOKE = "UPDATE magi_site_token SET revoked = {} WHERE owner_id = NEW.id AND revoked IS NULL"
SQLITE_NOW = "strftime('%Y-%m-%d %H:%M:%f', 'now')"  # in Django's format
SQLITE = [
    f"CREATE TRIGGER {NAME} AFTER UPDATE OF is_active ON auth_user WHEN {TRIGGER_CONDITION} "
    f"BEGIN {REVOKE.format(SQLITE_NOW)}; END"
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
    """Install the trigger unless the table of tokens is missing or older than the trigger."""
    with connection.cursor() as cursor:
        if "magi_site_token" not in connection.introspection.table_names(cursor):
            return
        cursor.execute("SELECT * FROM magi_site_token LIMIT 0")
        columns = {column[0] for column in cursor.description}
        cursor.execute(EXISTS_SQL[connection.vendor], [NAME])
        there = cursor.fetchone()
    if "scopes" in columns and not there:  # the column came with the migration that first installed the trigger
        install_trigger(connection)


def remove_trigger(connection: Any) -> None:
    with connection.cursor() as cursor:
        on_table = "" if connection.vendor == "sqlite" else " ON auth_user"
        cursor.execute(f"DROP TRIGGER IF EXISTS {NAME}{on_table}")
