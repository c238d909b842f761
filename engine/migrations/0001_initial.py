import django.db.models.deletion
import django.db.models.functions.comparison
import django.db.models.lookups
import django.utils.timezone
import email.utils
import engine.models.budgets
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Checkpoint',
            fields=[
                ('size', models.PositiveBigIntegerField(primary_key=True, serialize=False)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('note', models.TextField()),
                ('peaks', models.TextField()),
            ],
            options={
                'ordering': ['size'],
            },
        ),
        migrations.CreateModel(
            name='LogLeaf',
            fields=[
                ('index', models.PositiveBigIntegerField(primary_key=True, serialize=False)),
                ('seq', models.PositiveIntegerField()),
                ('head', models.CharField(max_length=64)),
                ('at', models.DateTimeField()),
                ('hash', models.CharField(max_length=64)),
            ],
            options={
                'verbose_name_plural': 'leaves',
                'db_table': 'engine_leaf',
                'ordering': ['index'],
            },
        ),
        migrations.CreateModel(
            name='EmailOptOut',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='no_mail', serialize=False, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'db_table': 'engine_nomail',
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('procedure', models.CharField(max_length=40)),
                ('asked_by', models.CharField(blank=True, max_length=150)),
                ('account', models.CharField(blank=True, max_length=40)),
                ('title', models.CharField(blank=True, max_length=120)),
                ('request', models.CharField(blank=True, max_length=64)),
                ('step', models.CharField(blank=True, db_default='', max_length=80)),
                ('status', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('waiting', 'Waiting'), ('finished', 'Finished'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=10)),
                ('lane', models.CharField(blank=True, max_length=200)),
                ('revision', models.BigIntegerField(default=0)),
                ('worker', models.CharField(blank=True, max_length=40)),
                ('fence', models.BigIntegerField(default=0)),
                ('claims', models.PositiveIntegerField(default=0)),
                ('deaths', models.PositiveSmallIntegerField(default=0)),
                ('crashes', models.SmallIntegerField(db_default=0)),
                ('retries', models.PositiveSmallIntegerField(default=0)),
                ('lease_expires_at', models.DateTimeField(null=True)),
                ('created', models.DateTimeField(default=django.utils.timezone.now)),
                ('started', models.DateTimeField(null=True)),
                ('ended', models.DateTimeField(null=True)),
                ('error', models.JSONField(null=True)),
                ('outcome', models.CharField(max_length=60, null=True)),
                ('override', models.CharField(max_length=60, null=True)),
                ('redacted', models.DateTimeField(null=True)),
                ('spend', models.BigIntegerField(null=True)),
                ('news', models.BigIntegerField(db_default=0)),
                ('wakes_at', models.DateTimeField(null=True)),
                ('why', models.CharField(blank=True, db_default='', max_length=300)),
                ('claimed_at', models.DateTimeField(null=True)),
                ('worked', models.FloatField(db_default=0.0)),
                ('host', models.CharField(blank=True, db_default='', max_length=100)),
                ('reserved', models.BigIntegerField(default=0)),
                ('reserved_in', models.JSONField(default=list)),
                ('cancelled_by_name', models.CharField(blank=True, max_length=150)),
                ('cancelled_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='cancelled_runs', to=settings.AUTH_USER_MODEL)),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='runs', to=settings.AUTH_USER_MODEL)),
                ('parent', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='children', to='engine.run')),
                ('root', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='descendants', to='engine.run')),
            ],
            options={
                'permissions': [('steer_run', "Can cancel and retry everybody's runs"), ('redact_run', 'Can redact runs'), ('export_run', "Can export everybody's records"), ('use_doctor', 'Can let the doctor ask every provider')],
            },
        ),
        migrations.CreateModel(
            name='McpLeftOut',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('server', models.CharField(max_length=40)),
                ('why', models.TextField()),
                ('seen', models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                'ordering': ['server', 'pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='RateBucket',
            fields=[
                ('key', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('due', models.BigIntegerField(db_index=True)),
            ],
            options={
                'db_table': 'engine_pace',
            },
        ),
        migrations.CreateModel(
            name='WriterMarker',
            fields=[
                ('writer', models.CharField(max_length=40, primary_key=True, serialize=False)),
                ('batch', models.BigIntegerField()),
                ('moved', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='DigestSalt',
            fields=[
                ('leaf', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='salt', primary_key=True, serialize=False, to='engine.logleaf')),
                ('value', models.CharField(max_length=32)),
            ],
            options={
                'db_table': 'engine_salt',
            },
        ),
        migrations.AddField(
            model_name='logleaf',
            name='run',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='leaves', to='engine.run'),
        ),
        migrations.CreateModel(
            name='Document',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('title', models.CharField(blank=True, max_length=120)),
                ('kind', models.CharField(choices=[('text', 'Text'), ('markdown', 'Markdown'), ('csv', 'CSV'), ('pdf', 'PDF')], max_length=10)),
                ('text', models.TextField(blank=True)),
                ('digest', models.CharField(blank=True, max_length=64)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='documents', to='engine.run')),
            ],
            options={
                'ordering': ['number'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('seq', models.PositiveIntegerField()),
                ('kind', models.CharField(max_length=40)),
                ('line', models.TextField()),
                ('hash', models.CharField(max_length=64)),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='engine.run')),
            ],
            options={
                'verbose_name_plural': 'entries',
                'db_table': 'engine_entry',
                'ordering': ['run', 'seq'],
            },
        ),
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
                ('asked_account', models.CharField(blank=True, max_length=40, null=True)),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('approved', 'Approved'), ('rejected', 'Rejected'), ('answered', 'Answered'), ('expired', 'Expired'), ('failed', 'Failed'), ('void', 'Void')], default='pending', max_length=10)),
                ('made', models.DateTimeField()),
                ('closed', models.DateTimeField(null=True)),
                ('expires', models.DateTimeField(null=True)),
                ('used', models.DateTimeField(null=True)),
                ('effect', models.CharField(blank=True, db_default='', max_length=12)),
                ('hides', models.BooleanField(db_default=False)),
                ('asked_group', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='auth.group')),
                ('asked_user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='gates', to=settings.AUTH_USER_MODEL)),
                ('council', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='asked_at', to='engine.run')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='gates', to='engine.run')),
            ],
            options={
                'ordering': ['pk'],
                'permissions': [('decide_gate', "Can decide at everybody's gates"), ('override_gate', 'Can override a council at a gate, and look at what it says before it is shown')],
            },
        ),
        migrations.CreateModel(
            name='GateDecision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('by', models.CharField(blank=True, max_length=150)),
                ('account', models.CharField(blank=True, max_length=40, null=True)),
                ('decision', models.CharField(choices=[('approve', 'Approve'), ('reject', 'Reject'), ('answer', 'Answer'), ('override', 'Override'), ('look', 'Look'), ('expire', 'Expire'), ('turn', 'Turn'), ('fail', 'Fail')], max_length=8)),
                ('choice', models.CharField(blank=True, max_length=40)),
                ('text', models.TextField(blank=True)),
                ('answer', models.TextField(blank=True)),
                ('knew_council', models.BooleanField(db_default=False)),
                ('authors', models.JSONField(default=list)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('by_user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('gate', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='engine.gate')),
                ('judged_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.run')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='GateRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('procedure', models.CharField(blank=True, max_length=40)),
                ('kind', models.CharField(blank=True, max_length=20)),
                ('effect', models.CharField(blank=True, max_length=12)),
                ('tool', models.CharField(blank=True, max_length=120)),
                ('who', models.CharField(blank=True, choices=[('', 'as the procedure says'), ('person', 'a person'), ('council', 'a council'), ('both', 'both')], max_length=8)),
                ('persons', models.PositiveSmallIntegerField(default=1)),
                ('four_eyes', models.BooleanField(default=False)),
                ('blind', models.BooleanField(default=False)),
                ('council', models.CharField(blank=True, help_text='Its name, or its id where that is not enough.', max_length=120)),
                ('council_id', models.PositiveBigIntegerField(editable=False, null=True)),
                ('hours', models.PositiveIntegerField(blank=True, null=True)),
                ('expiry', models.CharField(blank=True, choices=[('', 'as the procedure says'), ('remind', 'remind'), ('reject', 'reject'), ('return', 'go on without')], max_length=8)),
            ],
            options={
                'ordering': ['procedure', 'kind', 'effect', 'tool'],
                'constraints': [models.UniqueConstraint(fields=('procedure', 'kind', 'effect', 'tool'), name='one_rule_of_a_gate'), models.CheckConstraint(condition=models.Q(('persons__gte', 1), ('persons__lte', 3)), name='rule_of_few_persons')],
            },
        ),
        migrations.CreateModel(
            name='Letter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('step', models.CharField(blank=True, max_length=80)),
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
            },
        ),
        migrations.CreateModel(
            name='McpTool',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('server', models.CharField(max_length=40)),
                ('name', models.CharField(max_length=64)),
                ('description', models.TextField(blank=True)),
                ('schema', models.TextField()),
                ('definition', models.CharField(max_length=64)),
                ('hinted', models.CharField(choices=[('reads', 'Reads'), ('writes', 'Writes'), ('reaches_out', 'Reaches out')], max_length=12)),
                ('hinted_repeatable', models.BooleanField(default=False)),
                ('seen', models.DateTimeField()),
                ('gone', models.DateTimeField(null=True)),
                ('effect', models.CharField(blank=True, choices=[('reads', 'Reads'), ('writes', 'Writes'), ('reaches_out', 'Reaches out')], max_length=12)),
                ('repeatable', models.BooleanField(default=False, help_text='Safe to do twice: where it was cut, it is done again.')),
                ('outside', models.BooleanField(default=True, help_text='It brings text of strangers: after it nothing is changed unasked.')),
                ('classed', models.CharField(blank=True, max_length=64)),
                ('allowed_by', models.CharField(blank=True, max_length=150)),
                ('allowed', models.DateTimeField(null=True)),
                ('allowed_by_user', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'MCP tool',
                'ordering': ['server', 'name'],
                'permissions': [('class_tool', 'Can say what tools of MCP servers do, and so let models use them')],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='ModelCall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('step', models.CharField(max_length=80)),
                ('series', models.PositiveSmallIntegerField(default=0)),
                ('attempt', models.PositiveSmallIntegerField()),
                ('status', models.CharField(choices=[('open', 'Open'), ('answered', 'Answered'), ('failed', 'Failed'), ('interrupted', 'Interrupted')], default='open', max_length=12)),
                ('model', models.CharField(max_length=200)),
                ('prompt', models.TextField()),
                ('left_out', models.TextField(blank=True, db_default='')),
                ('answer', models.TextField(blank=True)),
                ('answer_format', models.CharField(default='json_schema', max_length=12)),
                ('answered_by', models.CharField(blank=True, max_length=200)),
                ('parameters', models.TextField(blank=True, db_default='')),
                ('fingerprint', models.CharField(blank=True, db_default='', max_length=200)),
                ('input_tokens', models.PositiveIntegerField(null=True)),
                ('output_tokens', models.PositiveIntegerField(null=True)),
                ('estimated', models.BooleanField(default=False)),
                ('cost', models.BigIntegerField(null=True)),
                ('error_code', models.CharField(blank=True, max_length=20)),
                ('error', models.TextField(blank=True)),
                ('started', models.DateTimeField(default=django.utils.timezone.now)),
                ('deadline', models.DateTimeField()),
                ('ended', models.DateTimeField(null=True)),
                ('retry_at', models.DateTimeField(null=True)),
                ('looks', models.PositiveIntegerField(db_default=0, default=0)),
                ('looked_since', models.DateTimeField(null=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='calls', to='engine.run')),
            ],
        ),
        migrations.CreateModel(
            name='ModelWait',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('step', models.CharField(max_length=80)),
                ('fence', models.BigIntegerField()),
                ('provider', models.CharField(max_length=80)),
                ('since', models.DateTimeField(default=django.utils.timezone.now)),
                ('away', models.DateTimeField(null=True)),
                ('until', models.DateTimeField(null=True)),
                ('limited', models.BooleanField(default=False)),
                ('said', models.TextField(blank=True)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='waits', to='engine.run')),
            ],
        ),
        migrations.CreateModel(
            name='Reminder',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('days', models.PositiveSmallIntegerField()),
                ('made', models.DateTimeField()),
                ('gate', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reminders', to='engine.gate')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Notice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('gates', models.ManyToManyField(related_name='+', to='engine.gate')),
                ('letter', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='notice', to='engine.letter')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notices', to=settings.AUTH_USER_MODEL)),
                ('reminders', models.ManyToManyField(related_name='+', to='engine.reminder')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Review',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('by', models.CharField(max_length=150)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('kind', models.CharField(choices=[('note', 'Note'), ('override', 'Override')], max_length=8)),
                ('outcome', models.CharField(max_length=60, null=True)),
                ('text', models.TextField(max_length=4000)),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reviews', to='engine.run')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='RunAuthor',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=150)),
                ('part', models.CharField(choices=[('said', 'said something to it'), ('answered', 'answered a question of it'), ('changes', 'asked for changes'), ('changed', 'changed its text'), ('asked', 'asked for a run that it began from')], max_length=10)),
                ('place', models.CharField(blank=True, max_length=80)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='authors', to='engine.run')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='GateAuthor',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('gate', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='authors', to='engine.gate')),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='engine.runauthor')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='RunEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('what', models.CharField(choices=[('over', 'It is over'), ('asks', 'It asks somebody to decide')], max_length=10)),
                ('gate', models.BigIntegerField(null=True)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='engine.run')),
            ],
            options={
                'db_table': 'engine_happening',
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Suspension',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='parks', to='engine.run')),
            ],
            options={
                'db_table': 'engine_park',
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='ToolCall',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('step', models.CharField(max_length=80)),
                ('number', models.PositiveSmallIntegerField()),
                ('tool', models.CharField(max_length=120)),
                ('source', models.CharField(max_length=120)),
                ('definition', models.CharField(max_length=64)),
                ('effect', models.CharField(choices=[('reads', 'Reads'), ('writes', 'Writes'), ('reaches_out', 'Reaches out')], max_length=12)),
                ('contained', models.BooleanField(default=False)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('arguments', models.TextField(blank=True)),
                ('output', models.TextField(blank=True)),
                ('error', models.TextField(blank=True)),
                ('output_size', models.PositiveIntegerField(default=0)),
                ('outside', models.BooleanField(default=False)),
                ('status', models.CharField(choices=[('open', 'Under way'), ('done', 'Done'), ('failed', 'Failed'), ('interrupted', 'Interrupted')], default='open', max_length=12)),
                ('started', models.DateTimeField(null=True)),
                ('deadline', models.DateTimeField(null=True)),
                ('ended', models.DateTimeField(null=True)),
                ('asked_in', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='tool_calls', to='engine.modelcall')),
                ('gate', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='tool_call', to='engine.gate')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='tool_calls', to='engine.run')),
            ],
            options={
                'ordering': ['pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Budget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('limit', models.BigIntegerField()),
                ('month', models.DateField(default=engine.models.budgets.current_month, editable=False)),
                ('spent', models.BigIntegerField(default=0, editable=False)),
                ('reserved', models.BigIntegerField(default=0, editable=False)),
                ('owner', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(django.db.models.functions.comparison.Coalesce('owner', 0), name='one_budget_each'), models.CheckConstraint(condition=models.Q(('limit__gte', 0), ('reserved__gte', 0), ('spent__gte', 0)), name='budget_not_negative')],
            },
        ),
        migrations.CreateModel(
            name='Fork',
            fields=[
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='fork', serialize=False, to='engine.run')),
                ('number', models.PositiveIntegerField()),
                ('entry', models.PositiveIntegerField()),
                ('hash', models.CharField(max_length=64)),
                ('state', models.CharField(blank=True, max_length=64)),
                ('made', models.DateTimeField(default=django.utils.timezone.now)),
                ('origin', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='forks', to='engine.run')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('status', 'queued')), fields=['lane', 'owner', 'created'], name='run_queue'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('status', 'running')), fields=['lease_expires_at'], name='run_leases'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('status', 'waiting')), fields=['wakes_at'], name='run_alarms'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(condition=models.Q(('redacted', None)), fields=['ended'], name='run_with_texts'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['owner', '-created'], name='run_by_owner'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['-created'], name='run_newest_first'),
        ),
        migrations.AddIndex(
            model_name='run',
            index=models.Index(fields=['status', '-created'], name='run_by_status'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.UniqueConstraint(fields=('parent', 'step'), name='one_child_of_a_step'),
        ),
        migrations.AddConstraint(
            model_name='run',
            constraint=models.CheckConstraint(condition=models.Q(('status__in', ('queued', 'running', 'waiting', 'finished', 'failed', 'cancelled'))), name='run_status_known'),
        ),
        migrations.AddConstraint(
            model_name='document',
            constraint=models.UniqueConstraint(models.F('run'), models.F('number'), name='one_document_per_number'),
        ),
        migrations.AddConstraint(
            model_name='auditentry',
            constraint=models.UniqueConstraint(models.F('run'), models.F('seq'), name='one_entry_per_place'),
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
        migrations.AddIndex(
            model_name='gate',
            index=models.Index(django.db.models.lookups.IsNull(models.F('expires'), True), models.F('expires'), models.F('made'), models.F('id'), condition=models.Q(('state', 'pending')), name='gate_in_order'),
        ),
        migrations.AddIndex(
            model_name='gate',
            index=models.Index(condition=models.Q(('hides', True)), fields=['council'], name='gate_that_hides'),
        ),
        migrations.AddConstraint(
            model_name='gate',
            constraint=models.UniqueConstraint(fields=('run', 'step', 'number'), name='one_gate_of_a_number'),
        ),
        migrations.AddIndex(
            model_name='letter',
            index=models.Index(condition=models.Q(('state__in', ('to_send', 'sending'))), fields=['due'], name='letter_under_way'),
        ),
        migrations.AddConstraint(
            model_name='mcptool',
            constraint=models.UniqueConstraint(fields=('server', 'name'), name='one_mcp_tool_of_a_name'),
        ),
        migrations.AddIndex(
            model_name='modelcall',
            index=models.Index(models.F('model'), models.F('id'), condition=models.Q(('status', 'answered')), name='answered_of_a_model'),
        ),
        migrations.AddConstraint(
            model_name='modelcall',
            constraint=models.UniqueConstraint(condition=models.Q(models.Q(('status', 'interrupted'), _negated=True), models.Q(('error_code', 'format_refused'), _negated=True), models.Q(('error_code', 'away'), _negated=True)), fields=('run', 'step', 'series', 'attempt'), name='one_row_per_attempt'),
        ),
        migrations.AddConstraint(
            model_name='modelwait',
            constraint=models.UniqueConstraint(fields=('run', 'step'), name='one_wait_of_a_step'),
        ),
        migrations.AddConstraint(
            model_name='reminder',
            constraint=models.UniqueConstraint(fields=('gate', 'days'), name='one_reminder_of_a_gate'),
        ),
        migrations.AddConstraint(
            model_name='notice',
            constraint=models.UniqueConstraint(fields=('user', 'day'), name='one_notice_a_day'),
        ),
        migrations.AddConstraint(
            model_name='gateauthor',
            constraint=models.UniqueConstraint(fields=('gate', 'author'), name='one_author_of_a_gate'),
        ),
        migrations.AddIndex(
            model_name='toolcall',
            index=models.Index(condition=models.Q(('outside', True)), fields=['run'], name='tool_call_from_outside'),
        ),
        migrations.AddConstraint(
            model_name='toolcall',
            constraint=models.UniqueConstraint(fields=('run', 'step', 'number'), name='one_tool_call_of_a_number'),
        ),
    ]
