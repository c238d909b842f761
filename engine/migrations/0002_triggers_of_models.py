from django.db import migrations


class Migration(migrations.Migration):
    """Makes `migrate` reinstall the triggers, which now refuse that a row replaces another one."""

    dependencies = [("engine", "0001_initial")]
    operations = []
