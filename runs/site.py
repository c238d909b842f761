"""Where this site is, for whoever has no request to know it from."""

from django.conf import settings


def address() -> str:
    """Where this site's pages are, as far as its settings know."""
    host = settings.ALLOWED_HOSTS[0]
    return "http://127.0.0.1:8000" if host in settings.LOCAL_HOSTS else f"https://{host}"
