import gzip
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_vary_headers
from whitenoise.middleware import WhiteNoiseMiddleware

PACKED = ("text/css", "text/javascript")


class StaticFiles(WhiteNoiseMiddleware):
    """Styles and scripts go out packed, a quarter of their size. Pages do not: they hold secrets beside text of
    others, and their packed length would tell of them.

    Async where what comes next is: a middleware that is not holds a thread for as long as any call waits behind it.
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
        if response.status_code != 200 or not response.headers.get("Content-Type", "").startswith(PACKED):
            return response
        patch_vary_headers(response, ["Accept-Encoding"])
        if request.method != "GET" or "gzip" not in request.headers.get("Accept-Encoding", ""):
            return response
        packed = HttpResponse(_packed(response.getvalue()), headers=dict(response.items()))
        response.file_to_stream.close()
        packed.headers["Content-Encoding"] = "gzip"
        packed.headers["Content-Length"] = str(len(packed.content))
        return packed


@lru_cache(maxsize=100)
def _packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)
