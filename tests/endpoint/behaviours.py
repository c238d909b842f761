"""How a request can be answered: the table `BEHAVIOURS`, and what a line does not say."""

import asyncio
import contextlib
import functools
import gzip
import json
import socket
import struct
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from tests.endpoint.wire import END, ERRORS, EVENTS, Exchange, Wire, dump, framed, opposite

HTML = "<!doctype html><html><title>{0}</title><h1>{0}</h1></html>"


async def huge(to: Exchange) -> None:
    to.rule = replace(to.rule, chunks=to.rule.megabytes, reason="a" * to.rule.megabytes * 1_000_000)
    await to.says(to.good())


FORMAT_REFUSED = "Invalid parameter: 'response_format' of type '{0}' is not supported with this model."


async def picky(to: Exchange) -> None:
    asked = (to.record["body"].get("response_format") or {}).get("type", "")
    if asked in to.rule.accepts:
        return await to.says(to.good())
    message = {"message": FORMAT_REFUSED.format(asked), "type": "invalid_request_error", "code": None}
    await to.whole(to.rule.status or 400, {"error": message})


async def thinking(to: Exchange) -> None:
    """Three megabytes of thoughts in a field of their own, as gateways pass them on, before a short answer."""
    await to.head(200, EVENTS)
    thought = framed(to.chunk({"reasoning": "Let me think. " * 20}))
    for _ in range(100):
        await to.send(thought * 70)
    await to.send(framed(to.chunk({"content": to.good()})) + framed(to.chunk({}, "stop")) + framed(b"[DONE]") + END)


async def open_end(to: Exchange) -> None:
    """All of an answer, on a connection that stays open."""
    await to.begin({"content": to.good()})
    await to.send(framed(to.chunk({}, "stop")) + framed(b"[DONE]"))
    await asyncio.Event().wait()


async def no_stream_options(to: Exchange) -> None:
    if to.record["body"].get("stream_options") is None:
        return await to.says(to.good())
    await to.whole(400, {"error": {"message": "Unrecognized request argument supplied: stream_options"}})


@functools.cache
def packed(character: bytes, megabytes: int) -> bytes:
    """A thousand times as much as it looks."""
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    first, again = (packer.compress(character * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + again * (megabytes - 1)  # after a full flush every megabyte looks the same


def unpacks_to(character: bytes) -> Callable[[Exchange], Awaitable[None]]:
    return lambda to: to.whole(200, packed(character, to.rule.megabytes), {"Content-Encoding": "gzip"})


async def gzipped(to: Exchange) -> None:
    await to.whole(200, gzip.compress(dump(to.completion({"content": to.good()}))), {"Content-Encoding": "gzip"})


async def answers_twice(to: Exchange) -> None:
    """The second answer comes when the first is over, or while the next request on this connection is answered."""
    await to.says(to.good())
    approval = {"decision": "approve", "reason": to.rule.reason}
    late = to.completion({"content": dump(approval).decode()})
    asyncio.create_task(send_late(to, late))  # noqa: RUF006 - ends by itself, soon


async def send_late(to: Exchange, late: dict[str, Any]) -> None:
    await asyncio.sleep(to.rule.later)
    with contextlib.suppress(ConnectionError):
        await to.whole(200, late)


def choice(to: Exchange, text: str, **other: Any) -> dict[str, Any]:
    kind = "delta" if to.streamed else "message"
    return {"index": 0, kind: {"content": text}, "finish_reason": "stop"} | other


async def two_choices(to: Exchange) -> None:
    await to.payload(to.right() | {"choices": [choice(to, to.good(), index=index) for index in (0, 1)]})


async def two_choices_unstreamed(to: Exchange) -> None:
    whole = to.completion({"content": to.good()})
    await to.whole(200, whole | {"choices": [{**whole["choices"][0], "index": index} for index in (0, 1)]})


async def mixed_choices(to: Exchange) -> None:
    """Two answers, their pieces by turns. The beginning of one and the end of the other make a third."""
    await to.head(200, EVENTS)
    good = to.good()
    end = len(to.good(reason="")) - 2
    for index, text in ((0, good[:end]), (1, good[end:])):
        await to.send(framed(to.document("chat.completion.chunk", [choice(to, text, index=index)])))
    await to.send(framed(b"[DONE]") + END)


async def no_index(to: Exchange) -> None:
    named = choice(to, to.good())
    del named["index"]
    await to.payload(to.right() | {"choices": [named]})


def as_events(to: Exchange, finish: str | None = "stop") -> list[dict[str, Any]]:
    """The events of a usual stream, each a piece of what the wire then makes of it."""
    pieces = [to.chunk({"content": piece}) for piece in to.pieces(to.good())]
    return [*pieces, to.chunk({}, finish)]


async def events(to: Exchange, sent: bytes, done: bytes = b"data: [DONE]\n\n") -> None:
    """Bytes of a stream as they are; where one body was asked for it comes as usual."""
    if not to.streamed:
        return await to.says(to.good())
    data = sent + done
    await to.head(200, EVENTS)
    await to.send(b"%x\r\n%b\r\n" % (len(data), data) + END)


def each(to: Exchange, before: bytes = b"", end: bytes = b"\n\n", **more: Any) -> bytes:
    return b"".join(b"%bdata: %b%b" % (before, dump(one | more), end) for one in as_events(to))


async def many_data_lines(to: Exchange) -> None:
    lines = (json.dumps(one, indent=1).split("\n") for one in as_events(to))
    await events(to, b"".join("".join(f"data: {line}\n" for line in one).encode() + b"\n" for one in lines))


async def no_finish(to: Exchange) -> None:
    """Nobody says how the answer ended, and yet that it did."""
    await to.payload(to.chunk({"content": to.good()}) if to.streamed else to.completion({"content": to.good()}, None))


async def no_finish_cut(to: Exchange) -> None:
    content = {"content": to.good()[:-9]}
    await to.payload(to.chunk(content) if to.streamed else to.completion(content, None))


async def thinking_field(to: Exchange) -> None:
    await to.answer({"reasoning_content": "It names a date and a way back.", "content": to.good()})


BAD_SAMPLE = {"message": "Failed to validate JSON.", "code": "json_validate_failed", "failed_generation": '{"reas'}
LOADING = {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}


async def bad_sample_first(to: Exchange) -> None:
    """Every second sample is bad, by the endpoint's own check."""
    if to.record["number"] % 2:
        return await to.whole(400, {"error": BAD_SAMPLE})
    await to.says(to.good())


async def not_utf8(to: Exchange) -> None:
    to.rule = replace(to.rule, reason="Trop risqué.")
    await to.payload(dump(to.right()).decode().encode("latin-1"))  # wrong in one byte, right in all else


async def status(to: Exchange) -> None:
    error = to.error()
    number = to.rule.status or ERRORS[error["error"]["code"]][0]
    usual = HTML.format("502 Bad Gateway") if number == 502 else error
    await to.whole(number, usual if to.rule.body is None else to.rule.body, to.rule.headers)


async def drip_headers(to: Exchange) -> None:
    await to.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    await to.send_for_ever(b"a")


async def drip_body(to: Exchange) -> None:
    await to.head(200, EVENTS)
    await to.send(b'7\r\ndata: "\r\n')
    await to.send_for_ever(b"1\r\na\r\n")  # one string: bytes arrive all the time, an event never does


async def endless(to: Exchange) -> None:
    await to.head(200, EVENTS)
    await to.send_for_ever(framed(to.chunk({"content": "and "})))


TORRENTS: dict[str, Callable[[Exchange], bytes]] = {  # what comes again and again, as fast as it is read
    "characters": lambda to: framed(to.chunk({"content": "a"})),
    "characters_alike": lambda to: framed(b'{"choices":[{"delta":{"content":"\\n"}}]}'),
    "empty_pieces": lambda to: framed(b'{"choices":[{"delta":{"content":""}}]}'),
    "no_pieces": lambda to: framed(b'{"choices":[]}'),
    "thoughts": lambda to: framed(to.chunk({"reasoning": "and "})),
    "refusals": lambda to: framed(to.chunk({"refusal": "a"})),
    "empty_lines": lambda to: b"8000\r\n%b\r\n" % (b"\n" * 0x8000),
    "comments": lambda to: b"8000\r\n%b\r\n" % (b": \n\n" * 0x2000),
    "empty_data": lambda to: b"8000\r\n%b\r\n" % (b"data:\n\n\n" * 0x1000),
    "small_chunks": lambda to: b"1\r\n\n\r\n",
}


async def torrent(to: Exchange) -> None:
    """Without end and without a pause. Several kinds take turns."""
    await to.head(200, EVENTS)
    kinds = to.rule.torrent or tuple(TORRENTS)
    await pour(to, TORRENTS[kinds[to.record["number"] % len(kinds)]](to))


async def pour(to: Wire, piece: bytes) -> None:
    much = piece * (1 + 0x10000 // len(piece))
    while True:
        await to.send(much)
        await asyncio.sleep(0)


async def informational(to: Exchange) -> None:
    """Heads that announce an answer, without end."""
    await pour(to, b"HTTP/1.1 103 Early Hints\r\n\r\n")


async def stall(to: Exchange) -> None:
    """The first pieces of an answer, then blanks without end: a reason that has grown so far and grows no further."""
    at_once = replace(to, rule=replace(to.rule, chunk_delay=0))
    await at_once.begin({"content": to.rule.content or to.good()}, to.rule.cut_after)
    await to.send_for_ever(framed(to.chunk({"content": " "})))


async def reads(to: Exchange) -> None:
    """Nothing but that it is there, as a server says it while a model reads a long prompt on a slow machine."""
    await to.head(200, EVENTS)
    await to.send_for_ever(b"9\r\n: reading\r\n2\r\n\n\n\r\n")


async def close_at_once(to: Exchange) -> None:
    to.writer.close()


async def reset(to: Exchange) -> None:
    # closing with a linger time of 0 sends RST in place of FIN
    to.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    to.writer.transport.abort()


async def cut_stream(to: Exchange) -> None:
    await to.begin({"content": to.good()}, to.rule.cut_after)
    await to.send(END)


async def cut_connection(to: Exchange) -> None:
    await to.begin({"content": to.good()}, to.rule.cut_after)
    await to.send(b'40\r\ndata: {"id"')
    to.writer.close()


async def error_in_stream(to: Exchange) -> None:
    await to.begin({"content": to.good()}, 2)
    await to.send(framed(to.error()) + END)


async def garbage(to: Exchange) -> None:
    await to.send(b"SSH-2.0-OpenSSH_9.2\r\n\x00\xff\xfe\r\n\r\n")
    to.writer.close()


async def half_headers(to: Exchange) -> None:
    await to.send(b"HTTP/1.1 200 OK\r\nContent-Type: app")
    to.writer.close()


async def half_chunk(to: Exchange) -> None:
    await to.head(200, EVENTS)
    await to.send(b"ffff\r\ndata: ")
    to.writer.close()


async def short_body(to: Exchange) -> None:
    await to.head(200, {"Content-Type": "application/json", "Content-Length": 5000})
    await to.send(b'{"choices": [')
    to.writer.close()


BEHAVIOURS: dict[str, Callable[[Exchange], Awaitable[Any]]] = {
    # what the model says
    "good": lambda to: to.says(to.good()),
    "raw": lambda to: to.says(to.rule.content),
    "prose": lambda to: to.says(f"I would {to.rule.decision} this. {to.rule.reason}"),
    "fenced": lambda to: to.says(f"```json\n{to.good()}\n```"),
    "two_objects": lambda to: to.says(f"{to.good()}\n{to.good(decision=opposite(to.rule.decision))}"),
    "duplicate_keys": lambda to: to.says(f'{{"decision": "{opposite(to.rule.decision)}", {to.good()[1:]}'),
    "thinking_first": lambda to: to.says(f"<think>\nA date, a way back.\n</think>\n\n{to.good()}"),
    "thinking_closed_alone": lambda to: to.says(f"It names a date.\n</think>\n{to.good()}"),
    "thinking_in_brackets": lambda to: to.says(f"[THINK]It names a date.[/THINK]{to.good()}"),
    "thinking_in_a_field": thinking_field,
    "thinking_without_end": lambda to: to.says(f"<think>It names a date. {to.good()}"),
    "object_in_thinking_alone": lambda to: to.says(f"<think>{to.good()}</think>"),
    "object_before_thinking_ends": lambda to: to.says(f"{to.good()}</think>{to.good()}"),
    "words_before": lambda to: to.says(f"Here is my answer:\n\n{to.good()}"),
    "brackets_beside": lambda to: to.says(f"As [1] says: {to.good()}"),
    "wrong_enum": lambda to: to.says(to.good(decision="maybe")),
    "upper_case": lambda to: to.says(to.good(decision=to.rule.decision.upper())),
    "extra_field": lambda to: to.says(to.good(confidence=0.9)),
    "empty_reason": lambda to: to.says(to.good(reason="")),
    "missing_reason": lambda to: to.says(dump({"decision": to.rule.decision}).decode()),
    "huge": huge,
    "one_word_reason": lambda to: to.says(to.good(reason="Unsafe.")),
    "reason_with_nul": lambda to: to.says(to.good(reason="Quite\x00safe, as far as can be seen.")),
    "spaces": lambda to: to.says("   \n"),
    "colon": lambda to: to.says(":"),
    "null_content": lambda to: to.answer({"content": None}),
    "trailing_text": lambda to: to.says(f"{to.good()} I hope that this helps."),
    "boolean": lambda to: to.says(to.good(decision=True)),
    "cyrillic": lambda to: to.says(to.good(decision="\u0430pprove")),
    "list": lambda to: to.says(f"[{to.good()}]"),
    "drops_the_front": lambda to: to.says(to.rule.content or to.good()),
    "odd_usage": lambda to: to.payload(to.right() | {"usage": to.rule.usage}),
    "other_model": lambda to: to.payload(to.right() | {"model": "quite-another-model"}),
    # how the model ends
    "finish_length": lambda to: to.says(to.good()[:40], "length"),
    "finish_end_turn": lambda to: to.says(to.good(), "end_turn"),
    "finish_eos": lambda to: to.says(to.good(), "eos_token"),
    "finish_in_capitals": lambda to: to.says(to.good(), "STOP"),
    "finish_max_tokens": lambda to: to.says(to.good(), "MAX_TOKENS"),
    "finish_error": lambda to: to.says(to.good()[:40], "error"),
    "no_finish": no_finish,
    "no_finish_cut": no_finish_cut,
    "finish_filter": lambda to: to.says(to.good()[:40], "content_filter"),
    "refusal": lambda to: to.answer({"content": None, "refusal": "I'm sorry, I cannot help with that."}),
    # the envelope: what says nothing, and how lines end
    "byte_order_mark": lambda to: events(to, b"\xef\xbb\xbf" + each(to)),
    "pings": lambda to: events(to, each(to, b'event: ping\ndata: {"type": "ping"}\n\n')),
    "comments_between": lambda to: events(to, each(to, b": PROCESSING\n\n")),
    "ids_and_names": lambda to: events(to, each(to, b"id: 4\nevent: message\nretry: 10\n")),
    "both_line_ends": lambda to: events(to, each(to, end=b"\r\n\r\n")),
    "bare_returns": lambda to: events(to, each(to, end=b"\r\r")),
    "single_line_ends": lambda to: events(to, each(to, end=b"\n")),
    "many_data_lines": many_data_lines,
    "empty_errors": lambda to: events(to, each(to, error={"message": "", "code": None})),
    "choices_null_first": lambda to: events(to, b'data: {"choices": null}\n\n' + each(to)),
    "no_done": lambda to: events(to, each(to), b""),
    "error_event": lambda to: events(to, b'event: error\ndata: "Model unloaded."\n\n', b""),
    "bad_sample_always": lambda to: to.whole(400, {"error": BAD_SAMPLE}),
    "bad_sample_first": bad_sample_first,
    # bodies that are wrong in themselves: as they are, or as the one event of a stream where that was asked for
    "not_json": lambda to: to.payload(b"upstream connect error"),
    "truncated_json": lambda to: to.payload(dump(to.right())[:150]),
    "deep": lambda to: to.payload(b'{"choices": %b%b}' % (b"[" * 100_000, b"]" * 100_000)),
    "not_utf8": not_utf8,
    "no_choices": lambda to: to.payload(to.right() | {"choices": []}),
    "choices_null": lambda to: to.payload(to.right() | {"choices": None}),
    "message_missing": lambda to: to.payload(to.right() | {"choices": [{"index": 0, "finish_reason": "stop"}]}),
    "content_list": lambda to: to.payload(to.right() | {"choices": [{"message": {"content": ["a"]}}]}),
    "null_body": lambda to: to.payload(b"null"),
    "list_body": lambda to: to.payload(b"[]"),
    "number_body": lambda to: to.payload(b"42"),
    "string_body": lambda to: to.payload(b'"approve"'),
    "two_choices": two_choices,
    "two_choices_unstreamed": two_choices_unstreamed,
    "mixed_choices": mixed_choices,
    "odd_index": lambda to: to.payload(to.right() | {"choices": [choice(to, to.good(), index=to.rule.index)]}),
    "no_index": no_index,
    "finish_tool": lambda to: to.says(to.good(), "tool_calls"),
    # what some servers do not take
    "picky": picky,
    "thinking": thinking,
    "open_end": open_end,
    "no_stream_options": no_stream_options,
    # never a stream
    "gzip_bomb": unpacks_to(b"\0"),
    "gzip_line_breaks": unpacks_to(b"\n"),
    "gzipped": gzipped,
    "wrong_type": lambda to: to.whole(200, to.completion({"content": to.good()}), {"Content-Type": "text/plain"}),
    "binary_type": lambda to: to.whole(
        200, to.completion({"content": to.good()}), {"Content-Type": "application/octet-stream"}
    ),
    "answers_twice": answers_twice,
    "good_unstreamed": lambda to: to.whole(200, to.completion({"content": to.good()})),
    "html": lambda to: to.whole(200, HTML.format("Welcome to the guest network")),
    "empty": lambda to: to.whole(200, b""),
    "error_in_200": lambda to: to.whole(200, to.error()),
    "status": status,
    "redirect": lambda to: to.whole(to.rule.status or 302, b"", {"Location": "/redirected"} | to.rule.headers),
    # never an end; the client has to leave
    "hang": lambda to: asyncio.Event().wait(),
    "drip_headers": drip_headers,
    "drip_body": drip_body,
    "endless": endless,
    "stall": stall,
    "reads": reads,
    "torrent": torrent,
    "informational": informational,
    # broken off
    "close_at_once": close_at_once,
    "reset": reset,
    "garbage": garbage,
    "bad_status_line": lambda to: to.send(b"HTTP/9.9 what\r\n\r\n"),
    "half_headers": half_headers,
    "half_chunk": half_chunk,
    "short_body": short_body,
    # always a stream
    "cut_stream": cut_stream,
    "cut_connection": cut_connection,
    "error_in_stream": error_in_stream,
}
