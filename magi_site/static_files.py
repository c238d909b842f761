import gzip
from collections.abc import Callable
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage, staticfiles_storage
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from whitenoise.middleware import WhiteNoiseMiddleware

COMPRESSED_TYPES = ("text/css", "text/javascript")
IMMUTABLE_HEADER = "max-age=31536000, public, immutable"
MONTH_HEADER = "max-age=2592000, public"


class HashedStaticStorage(StaticFilesStorage):
    """Adds a content digest to the URLs of styles and scripts, so that browsers may cache them for ever.

    Files that styles and scripts load themselves (fonts, modules) have none.
    """

    def url(self, name: str | None) -> str:
        address = super().url(name)
        return f"{address}?v={_version(name)}" if name and name.endswith((".css", ".js")) else address


@cache
def _version(name: str) -> str:
    found = finders.find(name)
    return sha256(Path(found).read_bytes()).hexdigest()[:12] if found else ""


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """Serves styles and scripts with gzip, a quarter of their size.

    Pages are not compressed: they contain secrets beside text of others, and the length would leak them (BREACH).
    The middleware is async where the next one is: a sync one holds a thread for as long as any request behind it waits.
    """

    async_capable = True

    def __init__(self, get_response: Callable) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        return self._answer_later(request) if iscoroutinefunction(self) else super().__call__(request)

    async def _answer_later(self, request: HttpRequest) -> Any:
        found = self.files.get(request.path_info)
        if found is None:
            return await self.get_response(request)
        return await sync_to_async(self.serve)(found, request)

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:
        response: Any = WhiteNoiseMiddleware.serve(static_file, request)
        if cache_control := _cache_control(request):
            response.headers["Cache-Control"] = cache_control
        if response.status_code != 200 or not response.headers.get("Content-Type", "").startswith(COMPRESSED_TYPES):
            return response
        patch_vary_headers(response, ["Accept-Encoding"])
        if request.method != "GET" or "gzip" not in request.headers.get("Accept-Encoding", ""):
            return response
        packed = HttpResponse(_packed(response.getvalue()), headers=dict(response.items()))
        response.file_to_stream.close()
        packed.headers["Content-Encoding"] = "gzip"
        packed.headers["Content-Length"] = str(len(packed.content))
        return packed


def _cache_control(request: HttpRequest) -> str:
    """Empty for another version than ours: during an update the page may come from a newer server."""
    if request.path_info.endswith(".woff2"):
        return MONTH_HEADER
    name = request.path_info.removeprefix(staticfiles_storage.url(""))
    version = request.GET.get("v")
    return IMMUTABLE_HEADER if version and version == _version(name) else ""


@lru_cache(maxsize=100)
def _packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)
