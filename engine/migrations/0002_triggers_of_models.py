from django.db import migrations


class Migration(migrations.Migration):
    """Changes nothing itself: after it the triggers are installed anew, and no row can replace another one any more."""

    dependencies = [("engine", "0001_initial")]
    operations = []
