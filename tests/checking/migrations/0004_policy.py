from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checking", "0003_summary")]
    operations = [migrations.AddField("check", "policy", models.JSONField(null=True))]
