"""Caches rendered messages, which never change: each process renders one once, and again after its texts were
erased."""

from threading import Lock

from django import template
from django.template.loader import get_template
from django.utils.safestring import SafeString

from ..page.transcript import TranscriptSlot

CACHE_SIZE = 2_000  # messages: a few megabytes

register = template.Library()
_drawn: dict[tuple[object, ...], SafeString] = {}
_lock = Lock()


@register.simple_tag
def cached_message(slot: TranscriptSlot) -> SafeString:
    run = slot.scene.run
    key = run.pk, slot.number, run.redacted is None
    html = _drawn.get(key)
    return _keep(key, _draw(slot)) if html is None else html


def _draw(slot: TranscriptSlot) -> SafeString:
    return SafeString(get_template("debates/_said.html").render({"said": slot.said}))


def _keep(key: tuple[object, ...], html: SafeString) -> SafeString:
    with _lock:
        _drawn[key] = html
        while len(_drawn) > CACHE_SIZE:
            del _drawn[next(iter(_drawn))]
    return html
