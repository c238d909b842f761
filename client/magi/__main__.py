"""magi judge: ask a council from a shell. Exit status 0 approved, 1 rejected, 2 no verdict, 64 bad usage or input."""

import argparse
import codecs
import json
import os
import sys
from typing import NoReturn

from ._client import Magi, RunResult
from ._wire import MagiError, MagiUnreachable

APPROVED, REJECTED, NOTHING, USAGE = 0, 1, 2, 64
USAGE_EXIT = (400, 404, 409, 413, 415, 422)


class CommandParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(USAGE, f"{self.prog}: {message}\n")


def main(words: list[str] | None = None) -> int:
    parser = CommandParser(prog="magi", description=__doc__)
    judge = parser.add_subparsers(dest="what", required=True).add_parser("judge", help="have something judged")
    judge.add_argument("content", nargs="?", default="-", help="what is to be decided; - reads it")
    judge.add_argument("--council", default="Magi")
    judge.add_argument("--title", default="")
    judge.add_argument("--key", default="", help="the same request under the same key is judged once")
    judge.add_argument("--wait", type=float, default=600.0)
    judge.add_argument("--encoding", default="", help="encoding of a text that is not UTF-8 and does not state its own")
    judge.add_argument("--json", action="store_true", help="print it as the API shows it")
    judge.add_argument("--allow-rehearsal", action="store_true", help="a rehearsal's yes will do")
    judge.add_argument("--url", default=os.environ.get("MAGI_URL", ""), help="MAGI_URL, if it is not said")
    options = parser.parse_args(words)
    token = os.environ.get("MAGI_TOKEN", "")
    if not options.url or not token:
        parser.error("say where MAGI is: --url or MAGI_URL, and a token in MAGI_TOKEN")
    try:
        magi = Magi(options.url, token)
    except ValueError as error:
        parser.error(str(error))
    return run_judge(options, magi)


def run_judge(options: argparse.Namespace, magi: Magi) -> int:
    try:
        data = sys.stdin.buffer.read() if options.content == "-" else os.fsencode(options.content)
        content = text_of(data, options.encoding)
    except (UnicodeError, LookupError) as error:
        print(f"content: It cannot be read ({error}). Name its --encoding, or save it in UTF-8.", file=sys.stderr)
        return USAGE
    asked = {"council": options.council, "title": options.title, "wait": options.wait, "key": options.key}
    try:
        run = magi.judge(content, **asked)
    except MagiUnreachable as error:
        print(f"No verdict: {error}", file=sys.stderr)
        return NOTHING
    except MagiError as error:
        print(f"{error}", file=sys.stderr)
        return USAGE if error.status in USAGE_EXIT else NOTHING
    print_run(run, options.json)
    return exit_status(run, options.allow_rehearsal)


def text_of(data: bytes, encoding: str = "") -> str:
    """In UTF-8, or as a Windows shell writes it, or in the encoding that is named. UnicodeError, LookupError."""
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        if not encoding:
            raise
        text = data.decode(encoding)
    return text.replace("\r\n", "\n")


def print_run(run: RunResult, as_json: bool) -> None:
    for agent in run.all.get("agents", ()):
        for said in agent["decisions"][-1:]:
            print(_in_one_line(f"{agent['name']}: {said['decision']}. {said['reason']}"), file=sys.stderr)
    print(f"{run.url}", file=sys.stderr)
    print(json.dumps(run.all) if as_json else run.holds or run.status)


def exit_status(run: RunResult, allow_rehearsal: bool) -> int:
    if run.holds is None:
        return NOTHING
    if run.holds != "approved":
        return REJECTED
    if run.all.get("rehearsal") and not allow_rehearsal:
        print("A rehearsal decides nothing: no model was asked.", file=sys.stderr)
        return NOTHING
    return APPROVED


def _in_one_line(text: str) -> str:
    return "".join(sign if sign.isprintable() else " " for sign in text)


if __name__ == "__main__":
    sys.exit(main())
