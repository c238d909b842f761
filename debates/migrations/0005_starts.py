"""What the library counts, of the debates that are there."""

from django.db import migrations

FILL = """INSERT INTO runs_start (run_id, shelf, key, owner_id, rehearsal)
    SELECT run.id, 'panel', version.panel_id, run.owner_id, found.words || ' ' LIKE '%=rehearsal=True %'
    FROM debates_debate AS debate
    JOIN debates_panelversion AS version ON version.id = debate.panel_version_id
    JOIN engine_run AS run ON run.id = debate.run_id
    JOIN runs_searchtext AS found ON found.run_id = run.id
    ORDER BY found.id"""


class Migration(migrations.Migration):
    dependencies = [("debates", "0004_ready_made_panels"), ("runs", "0003_starts")]
    operations = [migrations.RunSQL(FILL, "DELETE FROM runs_start WHERE shelf = 'panel'")]
