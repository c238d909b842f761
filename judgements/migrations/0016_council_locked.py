from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judgements", "0015_permissions")]
    operations = [migrations.AddField("council", "locked", models.DateTimeField(null=True))]
