"""Somebody has to decide before a run may go on."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from engine.ledger import immutability
from engine.on_schema import OnSchema


def guard(apps, schema_editor):
    immutability.install_triggers(schema_editor.connection, [immutability.ENGINE_TABLES[name] for name in ("engine_gate", "engine_gatedecision")])


def unguard(apps, schema_editor):
    immutability.remove_triggers(schema_editor.connection, [immutability.ENGINE_TABLES[name] for name in ("engine_gate", "engine_gatedecision")])


class Migration(migrations.Migration):

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        ('engine', '0017_documents'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Gate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('step', models.CharField(max_length=80)),
                ('number', models.PositiveSmallIntegerField()),
                ('kind', models.CharField(max_length=20)),
                ('tool', models.CharField(blank=True, max_length=120)),
                ('title', models.CharField(blank=True, max_length=200)),
                ('text', models.TextField(blank=True)),
                ('whole', models.CharField(blank=True, max_length=64)),
                ('policy', models.JSONField()),
                ('choices', models.JSONField(default=list)),
                ('when_failed', models.CharField(default='person', max_length=8)),
                ('asked', models.CharField(blank=True, max_length=150)),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('approved', 'Approved'), ('rejected', 'Rejected'), ('answered', 'Answered'), ('expired', 'Expired'), ('void', 'Void')], default='pending', max_length=10)),
                ('made', models.DateTimeField()),
                ('closed', models.DateTimeField(null=True)),
                ('expires', models.DateTimeField(null=True)),
                ('used', models.DateTimeField(null=True)),
                ('asked_group', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='auth.group')),
                ('asked_user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='gates', to=settings.AUTH_USER_MODEL)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='gates', to='engine.run')),
            ],
            options={
                'ordering': ['pk'],
                'permissions': [('decide_gate', "Can decide at everybody's gates")],
            },
        ),
        migrations.CreateModel(
            name='GateDecision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('by', models.CharField(blank=True, max_length=150)),
                ('decision', models.CharField(choices=[('approve', 'Approve'), ('reject', 'Reject'), ('answer', 'Answer'), ('expire', 'Expire')], max_length=8)),
                ('choice', models.CharField(blank=True, max_length=40)),
                ('text', models.TextField(blank=True)),
                ('answer', models.TextField(blank=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('by_user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('gate', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='engine.gate')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.AddIndex(
            model_name='gate',
            index=models.Index(condition=models.Q(('state', 'pending')), fields=['asked_user'], name='gate_of_user'),
        ),
        migrations.AddIndex(
            model_name='gate',
            index=models.Index(condition=models.Q(('state', 'pending')), fields=['asked_group'], name='gate_of_group'),
        ),
        migrations.AddIndex(
            model_name='gate',
            index=models.Index(condition=models.Q(('state', 'pending')), fields=['run'], name='gate_pending'),
        ),
        migrations.AddConstraint(
            model_name='gate',
            constraint=models.UniqueConstraint(fields=('run', 'step', 'number'), name='one_gate_of_a_number'),
        ),
        OnSchema(guard, unguard),
    ]
