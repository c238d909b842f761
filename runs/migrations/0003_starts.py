
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('engine', '0018_gates'),
        ('runs', '0002_saved_views'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Start',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('shelf', models.CharField(max_length=40)),
                ('key', models.BigIntegerField()),
                ('rehearsal', models.BooleanField()),
                ('owner', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='starts', to='engine.run')),
            ],
            options={
                'default_permissions': (),
                'indexes': [models.Index(fields=['shelf', 'key', '-id'], name='start_newest_first'), models.Index(fields=['owner', 'shelf', 'key', '-id'], name='start_by_owner')],
            },
        ),
    ]
