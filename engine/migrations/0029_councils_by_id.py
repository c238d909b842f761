"""A gate rule means a council by its id. Which one a rule of before means is looked up where councils are."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("engine", "0028_accounts_at_gates")]

    operations = [
        migrations.AddField(
            model_name="gaterule",
            name="council_id",
            field=models.PositiveBigIntegerField(editable=False, null=True),
        ),
        migrations.AlterField(
            model_name="gaterule",
            name="council",
            field=models.CharField(
                blank=True, help_text="Its name, or its id where that is not enough.", max_length=120
            ),
        ),
    ]
