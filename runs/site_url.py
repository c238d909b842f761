"""The URL of this site, for code without a request."""

import os
from contextlib import suppress
from urllib.parse import urlsplit

from django.conf import settings

USUAL = "http://127.0.0.1:8000"


def address() -> str:
    """Return the configured URL, or where `serve` was last started for this machine only."""
    return settings.ADDRESS or _served_at() or USUAL


def note_served_at(place: str) -> None:
    """Save the URL of a site for this machine only, for commands and workers on it."""
    new = settings.SERVED_AT.with_name(f"{settings.SERVED_AT.name}.{os.getpid()}")
    with suppress(OSError):  # without the file, links use the default port, and the site still works
        new.write_text(place)
        new.replace(settings.SERVED_AT)


def _served_at() -> str:
    try:
        place = settings.SERVED_AT.read_text().strip()
        parts = urlsplit(place)
    except (OSError, ValueError):
        return ""
    return place if parts.scheme == "http" and parts.netloc and place == f"http://{parts.netloc}" else ""
