from typing import Any

import dj_database_url
from django.conf import global_settings

from .environment import ROOT, read_environment

ENVIRONMENT = read_environment()

DEBUG = False
SECRET_KEY = ENVIRONMENT.secret_key()
ALLOWED_HOSTS = ENVIRONMENT.ALLOWED_HOSTS
CSRF_TRUSTED_ORIGINS = ENVIRONMENT.CSRF_TRUSTED_ORIGINS

INSTALLED_APPS = [
    "magi_site",
    "engine",
    "runs",
    "office",
    "judgements",
    "debates",
    "inquiries",
    "plans",
    "missions",
    "channels",
    "django_htmx",
    "magi_site.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "magi_site.middleware.security_headers",
    "magi_site.problem_details.problem_middleware",
    "magi_site.middleware.reject_invalid_utf8",
    "magi_site.static_files.StaticFilesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # everything asks for sign-in unless its view says otherwise
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "magi_site.urls"
ASGI_APPLICATION = "magi_site.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "OPTIONS": {
            "builtins": ["engine.templatetags.visible"],
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    [
                        "django.template.loaders.filesystem.Loader",
                        "django.template.loaders.app_directories.Loader",
                    ],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "runs.context_processors.pending_context",
            ],
        },
    }
]

# ---- the record -------------------------------------------------------------------------------------------


def database() -> dict[str, Any]:
    url = ENVIRONMENT.DATABASE_URL
    config: dict[str, Any] = {**dj_database_url.parse(url.get_secret_value())} if url else {}
    if config.get("ENGINE") == "django.db.backends.postgresql":
        config["OPTIONS"] = {
            # notices a dead server within seconds; a client that stops in mid-transaction loses its locks
            "connect_timeout": 5,
            "tcp_user_timeout": 10_000,
            "keepalives_idle": 5,
            "keepalives_interval": 2,
            "keepalives_count": 3,
            "options": "-c idle_in_transaction_session_timeout=10s -c jit=off",  # queries are too short to gain
            **config.get("OPTIONS", {}),
            # a pool that tests a connection before it lends it: Django's persistent connections run out under ASGI
            "pool": {"min_size": 1, "max_size": 10, "timeout": 5, "reconnect_timeout": 3},
        }
        config["CONN_HEALTH_CHECKS"] = True
        return config
    return {
        "ENGINE": "magi_site.sqlite",
        "NAME": config.get("NAME") or ENVIRONMENT.MAGI_DATA_DIR / "magi.sqlite3",
        "TEST": {"NAME": ENVIRONMENT.MAGI_DATA_DIR / "test.sqlite3"},
        "OPTIONS": {
            # IMMEDIATE: a transaction that reads and then writes would otherwise fail at once under load
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            # secure_delete: what a redaction erases is overwritten
            "init_command": (
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA journal_size_limit=67108864; "
                "PRAGMA secure_delete=ON;"
            ),
        },
    }


DATABASES = {"default": database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

SIGNING_KEY = ENVIRONMENT.signing_key()
CHECKPOINT_FILE = ENVIRONMENT.MAGI_CHECKPOINT_FILE or ENVIRONMENT.MAGI_DATA_DIR / "checkpoints"
CHECKPOINT_WEBHOOK = ENVIRONMENT.MAGI_CHECKPOINT_WEBHOOK

# ---- the engine -------------------------------------------------------------------------------------------

# value of `Run.procedure`, which is stored for ever -> path of its ProcedureSpec
PROCEDURES = {
    "judgement": "judgements.spec.JudgementSpec",
    "debate": "debates.spec.DebateSpec",
    "inquiry": "inquiries.spec.InquirySpec",
    "plan": "plans.spec.PlanSpec",
    "mission": "missions.spec.MissionSpec",
}
# approvers at gates that are not people -> function that starts their run, see `engine.council_approval`
DECIDERS = {"council": "judgements.council_approval.decide_gate"}
COUNCIL_APPROVER = "judgement"  # the procedure by which councils decide at gates
COUNCILS = "judgements.council_approval"  # module that finds councils by name, see `engine.councils`
SHARED_TOOLS = [
    "toolbox.calculator",
    "toolbox.mail",
    "office.tools",
    "missions.mission_tool",
]  # modules whose `TOOLS` the agents of any procedure may get
STARTUP_TASKS = [
    "runs.mail.delivery.deliver_periodically",
    "runs.approvals.reminders.remind_periodically",
    "runs.webhooks.delivery.send_periodically",
    "missions.reaper.sweep_periodically",
]  # coroutines that each engine process runs beside its runs
# checks of `manage.py doctor`, in addition to the engine's own
DOCTOR_CHECKS = [
    "runs.mail.delivery.check_mail_server",
    "missions.sandbox_selftest.check_sandbox",
    "inquiries.tools.web.check_search",
]
# gauges of /metrics that are not computed from rows: each returns name, help, labels and values
METRIC_GAUGES = ["missions.sandbox_selftest.probe_metric"]
METRICS_TOKEN = ENVIRONMENT.MAGI_METRICS_TOKEN.get_secret_value() if ENVIRONMENT.MAGI_METRICS_TOKEN else ""
EMAIL_URL = ENVIRONMENT.EMAIL_URL.get_secret_value() if ENVIRONMENT.EMAIL_URL else ""
RETENTION_DAYS = ENVIRONMENT.MAGI_RETENTION_DAYS
RETENTION_FLOOR_DAYS = ENVIRONMENT.MAGI_RETENTION_FLOOR_DAYS
PROVIDERS = ENVIRONMENT.providers
MCP_SERVERS = {name: declared.server() for name, declared in ENVIRONMENT.MAGI_MCP_SERVERS.items()}
DEFAULT_MODEL = ENVIRONMENT.default_model
CALL_TIMEOUT = ENVIRONMENT.MAGI_CALL_TIMEOUT
CALL_FIRST = ENVIRONMENT.MAGI_CALL_FIRST
CALL_SILENCE = ENVIRONMENT.MAGI_CALL_SILENCE
SERVER_PATIENCE = ENVIRONMENT.MAGI_SERVER_PATIENCE
RUN_TIMEOUT = ENVIRONMENT.MAGI_RUN_TIMEOUT
ENGINE_LEASE = ENVIRONMENT.MAGI_ENGINE_LEASE
ENGINE_CONCURRENCY = ENVIRONMENT.MAGI_ENGINE_CONCURRENCY
HOST = ENVIRONMENT.MAGI_HOST
PUBLISH_TO = ENVIRONMENT.MAGI_PUBLISH_TO.get_secret_value() if ENVIRONMENT.MAGI_PUBLISH_TO else ""
WORKSPACES_FROM = ENVIRONMENT.MAGI_WORKSPACES_FROM  # paths of git repositories or bundles
MISSIONS_DIR = ENVIRONMENT.MAGI_MISSIONS_DIR or ENVIRONMENT.MAGI_DATA_DIR / "missions"
INQUIRY_RETRIES = ENVIRONMENT.MAGI_INQUIRY_RETRIES
INQUIRY_TOOLS = ENVIRONMENT.MAGI_INQUIRY_TOOLS
SEARCH = ENVIRONMENT.search
HOOKS_ALLOWED_HOSTS = ENVIRONMENT.MAGI_HOOKS_ALLOWED_HOSTS
PAGES_ALLOWED_HOSTS = ENVIRONMENT.MAGI_PAGES_ALLOWED_HOSTS

# limits of one user; the command line has none
USER_QUEUED = ENVIRONMENT.MAGI_USER_QUEUED
USER_WAITING = ENVIRONMENT.MAGI_USER_WAITING
USER_SUBMISSIONS = ENVIRONMENT.MAGI_USER_SUBMISSIONS
USER_READS = ENVIRONMENT.MAGI_USER_READS
USER_RECEIPTS = ENVIRONMENT.MAGI_USER_RECEIPTS
USER_TOKENS = ENVIRONMENT.MAGI_USER_TOKENS
USER_EXPORTS = ENVIRONMENT.MAGI_USER_EXPORTS

MCP_DOOR = ENVIRONMENT.MAGI_MCP
# whether /api/automation is served, and the team that gets its tasks
COMPAT = ENVIRONMENT.MAGI_COMPAT
COMPAT_TEAM = ENVIRONMENT.MAGI_COMPAT_TEAM

if ENVIRONMENT.REDIS_URL:
    CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "engine.channel_layer.CountingLayer",
            "CONFIG": {"hosts": [ENVIRONMENT.REDIS_URL.get_secret_value()]},
        }
    }
else:
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer", "CONFIG": {"capacity": 1000}}}

# ---- authentication ---------------------------------------------------------------------------------------

# the first decides all permissions; the second checks passwords
AUTHENTICATION_BACKENDS = ["magi_site.groups.EverybodyBackend", "django.contrib.auth.backends.ModelBackend"]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "new"
LOGOUT_REDIRECT_URL = "login"
# only one: with two, the time of a wrong guess would tell accounts with another hasher from unknown names
PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
PROXIES = ENVIRONMENT.proxies
SESSION_COOKIE_AGE = 12 * 60 * 60
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024  # bytes without files; texts of documents may have 60,000 characters
DATA_UPLOAD_MAX_NUMBER_FIELDS = 300  # nine members, six options, and the fields of the other procedures

if not ENVIRONMENT.local:
    # other hosts are served through a proxy with https that sets X-Forwarded-Proto
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz)$"]
    SECURE_HSTS_SECONDS = 63_072_000
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    SESSION_COOKIE_NAME = "__Host-sessionid"
    CSRF_COOKIE_NAME = "__Host-csrftoken"

# ---- language, files, logs --------------------------------------------------------------------------------

LANGUAGE_CODE = "en-gb"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "static/"
STATICFILES_DIRS = [ROOT / "static"]
WHITENOISE_USE_FINDERS = True
STORAGES = {**global_settings.STORAGES, "staticfiles": {"BACKEND": "magi_site.static_files.HashedStaticStorage"}}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "engine.console.SingleLineFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        },
        "object": {"()": "engine.json_logs.JsonFormatter"},
    },
    "filters": {
        "in_words": {"()": "engine.database_errors.DatabaseErrorFilter"},
        "no_secrets": {"()": "engine.json_logs.SecretPathFilter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "object" if ENVIRONMENT.MAGI_LOG == "json" else "line",
            "filters": ["in_words", "no_secrets"],
        }
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {"engine": {"level": "INFO"}, "magi_site": {"level": "INFO"}, "django.request": {"level": "ERROR"}},
}

ADDRESS = ENVIRONMENT.address
SERVED_AT = (
    ENVIRONMENT.MAGI_DATA_DIR / "address"
)  # file with the last origin of `serve`, for links where only this machine is served
