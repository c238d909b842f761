"""What the library counts, of the judgements that are there."""

from django.db import migrations

FILL = """INSERT INTO runs_start (run_id, shelf, key, owner_id, rehearsal)
    SELECT run.id, 'council', version.council_id, run.owner_id, found.words || ' ' LIKE '%=rehearsal=True %'
    FROM judgements_judgement AS judgement
    JOIN judgements_councilversion AS version ON version.id = judgement.council_version_id
    JOIN engine_run AS run ON run.id = judgement.run_id
    JOIN runs_searchtext AS found ON found.run_id = run.id
    ORDER BY found.id"""


class Migration(migrations.Migration):
    dependencies = [("judgements", "0023_names_of_agents"), ("runs", "0003_starts")]
    operations = [migrations.RunSQL(FILL, "DELETE FROM runs_start WHERE shelf = 'council'")]
