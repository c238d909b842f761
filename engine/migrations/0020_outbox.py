"""Letters that are to leave by mail."""

import django.db.models.deletion
import django.utils.timezone
import email.utils
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('engine', '0019_tool_calls'),
    ]

    operations = [
        migrations.CreateModel(
            name='Letter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('message_id', models.CharField(default=email.utils.make_msgid, max_length=200, unique=True)),
                ('to', models.TextField(blank=True)),
                ('subject', models.CharField(blank=True, max_length=200)),
                ('text', models.TextField(blank=True)),
                ('state', models.CharField(choices=[('draft', 'Draft'), ('to_send', 'To send'), ('sending', 'Sending'), ('sent', 'Sent'), ('kept', 'Kept, not sent'), ('uncertain', 'Uncertain whether it was sent')], max_length=10)),
                ('error', models.TextField(blank=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('due', models.DateTimeField(default=django.utils.timezone.now)),
                ('taken', models.DateTimeField(null=True)),
                ('sent', models.DateTimeField(null=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='letters', to='engine.run')),
            ],
            options={
                'ordering': ['-pk'],
                'default_permissions': ('view', 'change'),
                'indexes': [models.Index(condition=models.Q(('state__in', ('to_send', 'sending'))), fields=['due'], name='letter_under_way')],
            },
        ),
    ]
