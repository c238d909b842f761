"""A database that was never migrated: each command says it in one sentence, and what to do."""

import pytest
from django.core.management import get_commands, load_command_class
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from engine.console import DatabaseCommand
from runs.run_command import RunCommand
from tests.acceptance.site import APPS, environment, manage

SENTENCE = "The database has not the tables that this version needs. Run manage.py migrate, then this again."
WITHOUT = {
    "doctor",
    "launcher",
    "migrate",
    "sandbox",
    "serve",
    "team_import",
}  # they make the tables, need none, or say it themselves


def our_commands():
    return {name: load_command_class(app, name) for name, app in get_commands().items() if app in APPS}


@pytest.mark.django_db
def test_every_command_of_ours_says_that_the_tables_are_missing_before_it_does_anything():
    MigrationRecorder(connection).migration_qs.delete()
    commands = {name: one for name, one in our_commands().items() if not isinstance(one, RunCommand)}
    for name in commands.keys() - WITHOUT:
        with pytest.raises(CommandError) as refused:
            commands[name].execute(force_color=False, no_color=False, skip_checks=True)
        assert (name, str(refused.value), refused.value.returncode) == (name, SENTENCE, 69)


def test_each_of_our_commands_is_one_that_looks_for_its_tables():
    commands = our_commands()
    assert [name for name, one in commands.items() if not isinstance(one, DatabaseCommand)] == []
    exempt = {name for name, one in commands.items() if not one.needs_tables and not isinstance(one, RunCommand)}
    assert exempt == WITHOUT


@pytest.mark.parametrize(
    "words",
    [
        ["createsuperuser", "--username", "a", "--email", "a@example.org", "--noinput"],
        ["verify_record"],
        ["redact", "--wipe"],
        ["gates"],
    ],
)
def test_on_a_shell_it_is_one_line_and_no_verdict(tmp_path, words):
    done = manage(*words, env=environment(tmp_path, empty=True, DJANGO_SUPERUSER_PASSWORD="a long enough secret"))
    assert done.stderr.splitlines()[-1].removeprefix("CommandError: ") == SENTENCE
    assert (done.returncode, "Traceback" in done.stderr) == (69, False)


def test_the_doctor_says_that_migrations_are_missing(tmp_path):
    done = manage("doctor", env=environment(tmp_path, empty=True))
    assert "database: The database has not the tables that this version needs. Run manage.py migrate" in done.stdout


def test_a_mission_for_somebody_is_begun_on_a_database_that_it_has_just_made(tmp_path):
    done = manage("mission", "Go.", "--by", "nobody", env=environment(tmp_path, empty=True))
    assert (done.returncode, done.stderr) == (64, "CommandError: There is no user nobody.\n")
