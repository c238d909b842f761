"""An index by which the newest answers of a model are found: from these it is said how long it usually takes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("engine", "0034_left_out_tools")]

    operations = [
        migrations.AddIndex(
            model_name="modelcall",
            index=models.Index("model", "id", condition=models.Q(status="answered"), name="answered_of_a_model"),
        ),
    ]
