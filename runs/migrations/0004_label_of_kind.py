"""Runs are found by their kind too, so that of a rare kind the index reads little, however common the words are.

It is added at the end, as all words are: an index takes up the label and leaves the rest alone.
"""

from django.db import migrations

ADD = """UPDATE runs_searchtext SET words = words || ' =kind=' ||
    (SELECT procedure FROM engine_run WHERE engine_run.id = runs_searchtext.run_id)"""


class Migration(migrations.Migration):
    dependencies = [("runs", "0003_starts")]
    operations = [migrations.RunSQL(ADD, migrations.RunSQL.noop)]
