"""Plans as the verifier that others run reads them."""

import io
import json

from django.core.management import call_command

from tests.tools.offline import verifier


def entries_of_all():
    """The entries of each plan's record, by its id."""
    out = io.StringIO()
    call_command("export_records", stdout=out)
    records = map(json.loads, out.getvalue().splitlines())
    return {one["id"]: one["entries"] for one in records if verifier.procedure(one["entries"]) == "plan"}


def problems(entries):
    try:
        return [f"{sentence}{place}" for sentence, place in verifier.check_plan(entries)]
    except verifier.NOT_GENUINE as error:
        return [f"It cannot be read: {error!r}"]
