from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("engine", "0011_crashes")]
    operations = [
        migrations.AlterModelOptions(
            name="run",
            options={
                "permissions": [
                    ("steer_run", "Can cancel and retry everybody's runs"),
                    ("redact_run", "Can redact runs"),
                    ("export_run", "Can export everybody's records"),
                    ("use_doctor", "Can let the doctor ask every provider"),
                ]
            },
        ),
    ]
