"""Where this site is, for whoever has no request to know it from."""

import os
from contextlib import suppress
from urllib.parse import urlsplit

from django.conf import settings

USUAL = "http://127.0.0.1:8000"


def address() -> str:
    """Where this site's pages are: as its settings say, or where `serve` was started last for this machine alone."""
    return settings.ADDRESS or _served_at() or USUAL


def note_served_at(place: str) -> None:
    """Keep where a site for this machine alone is served, for commands and engines beside it."""
    new = settings.SERVED_AT.with_name(f"{settings.SERVED_AT.name}.{os.getpid()}")
    with suppress(OSError):  # links then carry the usual port, and the site is served all the same
        new.write_text(place)
        new.replace(settings.SERVED_AT)


def _served_at() -> str:
    try:
        place = settings.SERVED_AT.read_text().strip()
        parts = urlsplit(place)
    except (OSError, ValueError):
        return ""
    return place if parts.scheme == "http" and parts.netloc and place == f"http://{parts.netloc}" else ""
