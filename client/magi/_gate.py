"""A function that runs only on an approval of exactly its arguments, and uses the approval up before it runs."""

import asyncio
import copy
import functools
import hashlib
import inspect
import json
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

from ._client import Magi, RunResult
from ._wire import MagiError, MagiUnreachable

F = TypeVar("F", bound=Callable[..., Any])
LIFETIME = 300  # seconds from the approval to the act
USED = 409


class NotApproved(Exception):
    """It was not approved, so nothing was done. `run`: what came of the judgement, where there was one."""

    def __init__(self, sentence: str, run: RunResult | None = None) -> None:
        super().__init__(sentence)
        self.run = run


class AlreadyDone(NotApproved):
    """The approval of this key was used before, so it was acted on, or by whoever died right then. Nothing was done
    again."""


def gate(
    council: str | int,
    *,
    magi: Magi | None = None,
    version: int | None = None,
    key: Callable[..., str] | None = None,
    describe: Callable[..., str] | None = None,
    rehearsal: bool = False,
    wait: float = 600,
) -> Callable[[F], F]:
    """Before the function runs, this council judges its name and its arguments, which are JSON. It runs on copies of
    them that were made before, after a receipt for exactly that text was used up: at most once for each approval.

    `key`: makes, of the arguments, what the act is called. All calls of one key are one judgement and at most one act,
    however often a program dies and begins again; without it each call is judged anew. `describe`: writes the text that
    is judged, of the arguments; all that matters has to stand in it. `rehearsal`: a rehearsal's yes will do.
    `magi`: else MAGI_URL and MAGI_TOKEN say where it is.
    """

    def decorate(function: F) -> F:
        def ready(args: Any, kwargs: Any) -> Any:
            mine = copy.deepcopy((args, kwargs))
            content = _statement(function, describe, *mine)
            named = key(*mine[0], **mine[1]) if key else ""
            _pass(magi or from_environment(), content, council, version, named, rehearsal, wait)
            if _statement(function, describe, *mine) != content:
                raise NotApproved("The arguments changed while they were judged, so nothing was done.")
            return mine

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def later(*args: Any, **kwargs: Any) -> Any:
                passed, named = await asyncio.get_running_loop().run_in_executor(None, ready, args, kwargs)
                return await function(*passed, **named)

            return cast(F, later)

        @functools.wraps(function)
        def now(*args: Any, **kwargs: Any) -> Any:
            passed, named = ready(args, kwargs)
            return function(*passed, **named)

        return cast(F, now)

    return decorate


def from_environment() -> Magi:
    try:
        return Magi(os.environ["MAGI_URL"], os.environ["MAGI_TOKEN"])
    except KeyError as missing:
        raise NotApproved(f"Nobody can be asked: {missing.args[0]} is not set.") from None


def _statement(function: Callable[..., Any], describe: Any, args: Any, kwargs: Any) -> str:
    """The text that is judged: the same for the same call alone."""
    if describe:
        return str(describe(*args, **kwargs))
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    name = f"{function.__module__}.{function.__qualname__}"
    called = json.dumps(dict(bound.arguments), ensure_ascii=False, sort_keys=True, allow_nan=False, indent=1)
    return f"Call of {name} with these arguments:\n{called}"


def _pass(
    magi: Magi, content: str, council: str | int, version: int | None, key: str, rehearsal: bool, wait: float
) -> None:
    """Returns where the act may happen now, which it may no second time. NotApproved, AlreadyDone, MagiError."""
    run = magi.judge(content, council=council, version=version, key=key, wait=wait)
    if not run.over or run.holds != "approved":
        raise NotApproved(f"It was not approved: {run.holds or run.status}. {run.url}", run)
    receipt = magi.receipt(run.id, lifetime=LIFETIME)
    if receipt["content_sha256"] != hashlib.sha256(content.encode()).hexdigest():
        raise NotApproved(f"Something else was approved. {run.url}", run)
    try:
        magi.consume(receipt, council=council, version=version, rehearsal=rehearsal, first=True)
    except MagiUnreachable as error:
        raise NotApproved(
            f"Nobody knows whether the approval was used up, so nothing was done: {error}", run
        ) from error
    except MagiError as error:
        kind = AlreadyDone if error.status == USED and "used already" in error.detail else NotApproved
        raise kind(f"{error} {run.url}", run) from error
