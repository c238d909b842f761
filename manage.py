#!/usr/bin/env python
import os
import sys

from django.core.management import execute_from_command_line
from django.db import Error as DBError

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "magi_site.settings")
    try:
        execute_from_command_line(sys.argv)
    except DBError as error:
        from engine import database_errors, tables  # which need the settings

        if not (found := database_errors.problem_of(error) or tables.lacking(error)):
            raise
        print(f"{found} {found.advice}", file=sys.stderr)
        sys.exit(database_errors.EXIT_STATUS)
