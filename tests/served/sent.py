"""Answers as they come over the wire: a server, what is odd, what came, and what has to come of it."""

import json
from dataclasses import dataclass
from typing import Any

ANSWER = '{"reason": "The way back was tried, and the hour is named.", "decision": "approve"}'
PIECES = [ANSWER[start : start + 9] for start in range(0, len(ANSWER), 9)]
USAGE = {"prompt_tokens": 900, "completion_tokens": 20, "total_tokens": 920}
READ = "read"  # the answer; everything else is the code of a failure


@dataclass(frozen=True)
class SentMail:
    server: str
    what: str
    body: bytes
    ends: str = READ
    away: bool = False  # whether the server is away or busy, by what it says


SENT: list[SentMail] = []


def event(value: Any, end: str = "\n\n", space: str = " ") -> bytes:
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"data:{space}{said}{end}".encode()


def chunk(delta: Any = None, finish: Any = None, choice: dict | None = None, **more: Any) -> dict[str, Any]:
    choices = [{"index": 0, "delta": {} if delta is None else delta, "finish_reason": finish} | (choice or {})]
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices} | more


def says(text: str = ANSWER, choice: dict | None = None, **more: Any) -> list[dict[str, Any]]:
    return [chunk({"content": text[at : at + 9]}, choice=choice, **more) for at in range(0, len(text), 9)]


def without_choices(**more: Any) -> dict[str, Any]:
    return chunk() | {"choices": []} | more


def stream(*values: Any, end: str = "\n\n", space: str = " ", done: bool = True, first: bytes = b"") -> bytes:
    events = [one if isinstance(one, bytes) else event(one, end, space) for one in values]
    return first + b"".join(events) + (event("[DONE]", end, space) if done else b"")


def whole(text: Any = ANSWER, finish: Any = "stop", message: dict | None = None, **more: Any) -> bytes:
    said = {"role": "assistant", "content": text} | (message or {})
    choice = {"index": 0, "message": said, "finish_reason": finish, "logprobs": None}
    body = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": USAGE}
    return json.dumps(body | more, ensure_ascii=False).encode()


def sent(server: str, what: str, body: bytes, ends: str = READ, away: bool = False) -> None:
    SENT.append(SentMail(server, what, body, ends, away))


ROLE, STOP = chunk({"role": "assistant", "content": ""}), chunk(finish="stop")
COUNT = without_choices(usage=USAGE)
USUAL = [ROLE, *says(), STOP, COUNT]

# ---- the usual stream, and each server's own turn of it -----------------------------------------------------

sent("OpenAI", "the documented stream", stream(*USUAL))
sent(
    "OpenAI",
    "fields of every piece: tier, fingerprint, obfuscation, refusal null",
    stream(
        chunk({"role": "assistant", "content": "", "refusal": None}, service_tier="default", obfuscation="x"),
        *says(choice={"logprobs": None}, service_tier="default", system_fingerprint="fp", usage=None, obfuscation="yz"),
        STOP,
        COUNT,
    ),
)
sent("OpenAI", "one body", whole(service_tier="default", system_fingerprint="fp"))
sent("OpenAI", "annotations and a null refusal in one body", whole(message={"refusal": None, "annotations": []}))
sent(
    "OpenAI",
    "a refusal in a field of its own",
    stream(chunk({"refusal": "I cannot do that."}), STOP),
    "unusable_answer",
)
sent("OpenAI", "cut at its limit", stream(ROLE, *says()[:4], chunk(finish="length")), "unusable_answer")
sent("OpenAI", "stopped by its filter", stream(ROLE, *says()[:4], chunk(finish="content_filter")), "content_filter")
sent("OpenAI", "a tool call in place of an answer", stream(ROLE, chunk(finish="tool_calls")), "unusable_answer")
sent(
    "OpenAI",
    "an error within the stream",
    stream(ROLE, *says()[:3], {"error": {"message": "The server had an error", "type": "server_error"}}, done=False),
    "server_error",
)
sent("OpenAI", "two choices", stream(chunk() | {"choices": [chunk()["choices"][0]] * 2}), "unusable_answer")

sent(
    "Ollama",
    "the role in every piece",
    stream(*[chunk({"role": "assistant", "content": p}, system_fingerprint="fp_ollama") for p in PIECES], STOP),
)
sent("Ollama", "earlier: an empty finish_reason in every piece", stream(*says(choice={"finish_reason": ""}), STOP))
sent(
    "Ollama",
    "its thinking in “reasoning”",
    stream(*[chunk({"role": "assistant", "content": "", "reasoning": "Well. "})] * 3, *says(), STOP, COUNT),
)
sent("Ollama", "<think> in the content", stream(*says(f"<think>\nA date, a way back.\n</think>\n\n{ANSWER}"), STOP))
sent("Ollama", "one body with thinking", whole(message={"reasoning": "Well, it names a date."}))
sent("Ollama", "its window was too small", stream(*says()[:5], chunk(finish="length")), "unusable_answer")
sent("Ollama", "an error in a stream", stream(*says()[:2], {"error": "an error was encountered"}), "server_error")
sent(
    "Ollama",
    "load of the model failed within a stream",
    stream({"error": "llama runner process no longer running"}),
    "server_error",
)
sent(
    "Ollama",
    "only thinking, then an end",
    stream(chunk({"reasoning": "Well."}), chunk({"content": ""}, "stop")),
    "unusable_answer",
)

TIMINGS = {"prompt_n": 1, "prompt_ms": 30.0, "predicted_n": 35, "predicted_ms": 661.0, "cache_n": 236}
sent(
    "llama.cpp",
    "a null content first, timings last",
    stream(chunk({"role": "assistant", "content": None}), *says(), chunk(finish="stop", timings=TIMINGS), COUNT),
)
sent("llama.cpp", "a comment to keep the line alive", stream(b":\n\n", *USUAL[:3], b":\n\n", *USUAL[3:]))
sent("llama.cpp", "its thinking in reasoning_content", stream(chunk({"reasoning_content": "Well."}), *USUAL))
sent("llama.cpp", "one body with timings", whole(timings=TIMINGS))
sent(
    "llama.cpp",
    "one body, all of it thinking",
    whole("", message={"reasoning_content": "It names a date."}),
    "unusable_answer",
)
sent(
    "llama.cpp",
    "earlier: an error as a field of the stream",
    b'error: {"code":500,"message":"Failed to decode the batch","type":"server_error"}\n\n',
    "server_error",
)
sent(
    "llama.cpp",
    "too long, told within the stream",
    stream(
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size",
                "type": "exceed_context_size_error",
            }
        }
    ),
    "refused",
)
sent("llama.cpp", "nothing but keep-alive, then closed", b":\n\n:\n\n", "unreachable")
sent(
    "llama.cpp",
    "an unclosed thought at its limit",
    stream(*says("<think>It names"), chunk(finish="length")),
    "unusable_answer",
)

sent("vLLM", "stop_reason and token ids", stream(*says(choice={"stop_reason": None, "token_ids": None}), STOP))
sent("vLLM", "a count with every piece", stream(*says(usage=USAGE), chunk(finish="stop", usage=USAGE)))
sent("vLLM", "a count that counts down to null", stream(*says(usage=None), STOP, COUNT | {"usage": None}))
sent("vLLM", "its thinking in reasoning_content", stream(chunk({"reasoning_content": "Well."}), *USUAL))
sent(
    "vLLM", "no parser for thinking: a lone closing tag", stream(*says(f"It names a date.\n</think>\n\n{ANSWER}"), STOP)
)
sent(
    "vLLM",
    "the object went to reasoning_content",
    stream(chunk({"reasoning_content": ANSWER}), STOP),
    "unusable_answer",
)
sent("vLLM", "aborted", stream(*says()[:4], chunk(finish="abort")), "server_error")
sent(
    "vLLM",
    "an error of the engine, told as one within the stream",
    stream(
        *says()[:2],
        {"error": {"object": "error", "message": "EngineCore died", "type": "InternalServerError", "code": 500}},
    ),
    "server_error",
)
sent(
    "vLLM",
    "earlier: an error without “error” around it",
    stream(
        {
            "object": "error",
            "message": "the model's maximum context length is 4096 tokens",
            "type": "BadRequestError",
            "code": 400,
        }
    ),
    "refused",
)
sent("vLLM", "one body", whole(prompt_logprobs=None, kv_transfer_params=None))
sent("vLLM", "a null content in one body", whole(None), "unusable_answer")

sent("LM Studio", "an empty delta with the end", stream(*says(system_fingerprint="m"), STOP))
sent("LM Studio", "one body with stats", whole(stats={}, system_fingerprint="m"))
sent("LM Studio", "[THINK] in the content", stream(*says(f"[THINK]A date.[/THINK]{ANSWER}"), STOP))
sent(
    "LM Studio",
    "event: error, a text of the crash",
    b'event: error\ndata: {"error":{"message":"The model has crashed without additional information."}}\n\n',
    "server_error",
)
sent("LM Studio", "event: error, a bare string", b'event: error\ndata: "Model unloaded."\n\n', "server_error")
sent(
    "LM Studio",
    "the prompt does not fit",
    stream(
        {"error": {"message": "Trying to keep the first 6000 tokens when context overflows. However, it holds 4096."}}
    ),
    "refused",
)

sent("TGI", "no space after “data:”", stream(*USUAL, space=""))
sent("TGI", "ends with eos_token", stream(ROLE, *says(), chunk({"content": ""}, "eos_token"), space=""))
sent("TGI", "ends with stop_sequence", stream(*says(), chunk({"content": ""}, "stop_sequence"), space=""))
sent("TGI", "closes without [DONE] after its end", stream(*says(), STOP, space="", done=False))
sent(
    "TGI",
    "an error with a type of its own",
    stream({"error": "Request failed during generation", "error_type": "generation"}),
    "server_error",
)
sent(
    "TGI",
    "overloaded, told in the stream",
    stream({"error": "Model is overloaded", "error_type": "overloaded"}),
    "server_error",
    away=True,
)
sent("TGI", "one body", whole(object="text_completion"))

sent(
    "SGLang",
    "an empty finish_reason, matched_stop",
    stream(*says(choice={"finish_reason": "", "matched_stop": None}), STOP),
)
sent(
    "SGLang",
    "the role as null",
    stream(*[chunk({"role": None, "content": p, "tool_calls": None}) for p in PIECES], STOP),
)
sent(
    "SGLang",
    "a null delta at the end",
    stream(*says(), chunk(finish="stop") | {"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]}),
)
sent(
    "SGLang",
    "an error as a chunk",
    stream({"error": {"message": "Request is aborted", "type": "AbortError", "code": 503}}),
    "server_error",
    away=True,
)
sent(
    "SGLang",
    "reasoning_content null beside the content",
    stream(*[chunk({"content": p, "reasoning_content": None}) for p in PIECES], STOP),
)

XGROQ = {"id": "req_1", "usage": USAGE}
sent(
    "Groq",
    "x_groq in the first and the last piece",
    stream(chunk(ROLE["choices"][0]["delta"], x_groq={"id": "r"}), *says(), chunk(finish="stop", x_groq=XGROQ)),
)
sent("Groq", "its thinking in “reasoning”", stream(chunk({"reasoning": "Well.", "channel": "analysis"}), *USUAL))
sent("Groq", "one body with times", whole(usage=USAGE | {"queue_time": 0.01}, x_groq={"id": "r"}))
sent(
    "Groq",
    "a bad sample, told within the stream",
    stream(
        *says()[:2],
        {
            "error": {
                "message": "Failed to validate JSON.",
                "code": "json_validate_failed",
                "failed_generation": ANSWER[:30],
            }
        },
    ),
    "unusable_answer",
)
sent(
    "Groq",
    "a tool call of a model that has no tools, within the stream",
    stream(
        {
            "error": {
                "message": "Tool choice is none, but model called a tool",
                "code": "tool_use_failed",
                "failed_generation": "{}",
            }
        }
    ),
    "unusable_answer",
)
sent(
    "Groq",
    "a limit of the rate, within the stream",
    stream({"error": {"message": "Please try again in 7.66s.", "code": "rate_limit_exceeded"}}),
    "rate_limited",
    away=True,
)

sent(
    "Gemini",
    "no piece of its own for role and end",
    stream(*says()[:-1], chunk({"content": PIECES[-1]}, "stop", usage=USAGE)),
)
sent("Gemini", "STOP in capitals", stream(*says(), chunk(finish="STOP")))
sent(
    "Gemini",
    "extra_content with a signature",
    stream(*[chunk({"content": p, "extra_content": {"google": {"thought": False}}}) for p in PIECES], STOP),
)
sent("Gemini", "no finish_reason at all, then [DONE]", stream(*says()))
sent("Gemini", "one body in a few large pieces", stream(chunk({"role": "assistant", "content": ANSWER}, "stop")))
sent("Gemini", "SAFETY", stream(*says()[:2], chunk(finish="SAFETY")), "content_filter")
sent(
    "Gemini",
    "“content_filter: RECITATION”",
    stream(*says()[:2], chunk(finish="content_filter: RECITATION")),
    "content_filter",
)
sent("Gemini", "MAX_TOKENS while it thinks", whole(None, "MAX_TOKENS"), "unusable_answer")
sent("Gemini", "an end without any content", stream(chunk({"role": "assistant"}, "stop")), "unusable_answer")
sent(
    "Gemini",
    "an error as a list within 200",
    json.dumps([{"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}]).encode(),
    "unusable_answer",
)
sent(
    "Gemini",
    "an error with its name alone, within the stream",
    stream({"error": {"message": "The model is overloaded. Please try again later.", "status": "UNAVAILABLE"}}),
    "server_error",
    away=True,
)

sent("Anthropic", "the compatible door", stream(*USUAL))
sent("Anthropic", "end_turn of a gateway that does not translate it", stream(*says(), chunk(finish="end_turn")))
sent("Anthropic", "pings between the pieces", stream(b'event: ping\ndata: {"type": "ping"}\n\n', *USUAL))
sent("Anthropic", "max_tokens", stream(*says()[:3], chunk(finish="max_tokens")), "unusable_answer")
sent("Anthropic", "refusal", stream(*says()[:3], chunk(finish="refusal")), "unusable_answer")
sent(
    "Anthropic",
    "overloaded in the midst",
    stream(
        *says()[:3],
        b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n',
        done=False,
    ),
    "server_error",
    away=True,
)
sent(
    "Anthropic",
    "overloaded, without a name of the event",
    stream({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, done=False),
    "server_error",
    away=True,
)

sent(
    "Mistral",
    "an end with an empty content and the count",
    stream(ROLE, *says(p="ab"), chunk({"content": ""}, "stop", usage=USAGE)),
)
THOUGHT = [{"type": "thinking", "thinking": [{"type": "text", "text": "A date."}]}]
sent("Mistral", "its thinking as parts of the content", stream(chunk({"content": THOUGHT}), *says(), STOP))
sent("Mistral", "all of the content as parts", whole([*THOUGHT, {"type": "text", "text": ANSWER}]))
sent("Mistral", "thinking parts alone", whole(THOUGHT), "unusable_answer")
sent("Mistral", "model_length", stream(*says()[:3], chunk(finish="model_length")), "unusable_answer")
sent("Mistral", "ends with “error”", stream(*says()[:3], chunk(finish="error")), "server_error")
sent("Mistral", "parts of no known form", whole(["a"]), "unusable_answer")

sent(
    "DeepSeek",
    "content null beside its thinking",
    stream(
        *[chunk({"content": None, "reasoning_content": "Well. "})] * 3,
        *[chunk({"content": p, "reasoning_content": None}) for p in PIECES],
        STOP,
    ),
)
sent("DeepSeek", "keep-alive comments", stream(b": keep-alive\n\n", b": keep-alive\n\n", *USUAL))
sent("DeepSeek", "one body, blank lines before it", b"\n\n\n\n" + whole(message={"reasoning_content": "Well."}))
sent(
    "DeepSeek",
    "insufficient_system_resource",
    stream(*says()[:3], chunk(finish="insufficient_system_resource")),
    "server_error",
    away=True,
)
sent(
    "DeepSeek",
    "nothing said, then an end",
    stream(chunk({"content": "", "reasoning_content": "Well."}), STOP),
    "unusable_answer",
)

PROCESSING = b": OPENROUTER PROCESSING\n\n"
sent("OpenRouter", "comments before and between", stream(PROCESSING, PROCESSING, *USUAL[:4], PROCESSING, *USUAL[4:]))
sent(
    "OpenRouter",
    "native_finish_reason, a provider",
    stream(
        *says(choice={"native_finish_reason": None}, provider="P"),
        chunk(finish="stop", choice={"native_finish_reason": "end_turn"}),
    ),
)
sent(
    "OpenRouter",
    "reasoning and reasoning_details",
    stream(
        chunk(
            {"content": "", "reasoning": "Well.", "reasoning_details": [{"type": "reasoning.text", "text": "Well."}]}
        ),
        *USUAL,
    ),
)
sent("OpenRouter", "one body after comments", PROCESSING * 3 + whole())
sent("OpenRouter", "one body after blanks", b"         \n\n         \n" + whole())
sent(
    "OpenRouter",
    "broke off with an error beside the choices",
    stream(
        PROCESSING,
        *says()[:4],
        chunk(
            {"content": ""}, "error", error={"code": "server_error", "message": "Provider disconnected unexpectedly"}
        ),
    ),
    "server_error",
)
sent(
    "OpenRouter",
    "an error within 200",
    b'{"error": {"message": "Provider returned error", "code": 502, "metadata": {"raw": "upstream: Internal"}}}',
    "server_error",
    away=True,
)
sent(
    "OpenRouter",
    "a limit of the rate within 200",
    b'{"error": {"message": "Rate limit exceeded", "code": 429}}',
    "rate_limited",
    away=True,
)
sent(
    "OpenRouter",
    "no credits, within 200",
    b'{"error": {"message": "This request requires more credits", "code": 402}}',
    "quota",
)
sent("OpenRouter", "comments, and then it was closed", PROCESSING * 5, "unreachable")

FILTERED = {"hate": {"filtered": False, "severity": "safe"}}
sent(
    "Azure",
    "results of filters first, without choices",
    stream(without_choices(prompt_filter_results=[{"prompt_index": 0, "content_filter_results": FILTERED}]), *USUAL),
)
sent("Azure", "results of filters in every piece", stream(*says(choice={"content_filter_results": FILTERED}), STOP))
sent(
    "Azure",
    "asynchronous results, without a delta, after the end",
    stream(*USUAL, chunk(choice={"delta": None, "content_filter_offsets": {"check_offset": 1}})),
)
sent("Azure", "an empty name of the model first", stream(without_choices(model="", id=""), *USUAL))
sent(
    "Azure",
    "stopped by its filter",
    stream(*says()[:3], chunk(finish="content_filter", choice={"content_filter_results": FILTERED})),
    "content_filter",
)
sent("Azure", "choices null at first", stream(without_choices(choices=None), *USUAL))

sent(
    "LiteLLM",
    "no finish_reason where there is none",
    stream(*[chunk() | {"choices": [{"index": 0, "delta": {"content": p}}]} for p in PIECES], STOP, COUNT),
)
sent(
    "LiteLLM",
    "an error of what is behind it, within the stream",
    stream(
        *says()[:2],
        {
            "error": {
                "message": "litellm.InternalServerError: AnthropicException - Overloaded",
                "type": None,
                "param": None,
                "code": "500",
            }
        },
    ),
    "server_error",
    away=True,
)
sent(
    "LiteLLM",
    "its thinking twice",
    stream(
        chunk({"reasoning_content": "Well.", "thinking_blocks": [{"type": "thinking", "thinking": "Well."}]}), *USUAL
    ),
)
sent(
    "LiteLLM",
    "an empty error with every piece",
    stream(*says(error={"message": "", "type": "", "param": "", "code": None}), STOP),
)
sent(
    "LiteLLM",
    "a missing index",
    stream(*[chunk() | {"choices": [{"delta": {"content": p}, "finish_reason": None}]} for p in PIECES], STOP),
)

sent("Fireworks", "the count with the end", stream(ROLE, *says(), chunk(finish="stop", usage=USAGE)))
sent("Fireworks", "<think> without a parser", stream(*says(f"<think>A date.</think>\n{ANSWER}"), STOP))
sent(
    "Together",
    "ends with eos, a text beside the delta",
    stream(
        *[chunk({"content": p, "token_id": 1}, choice={"text": p, "logprobs": None}) for p in PIECES],
        chunk(finish="eos", choice={"text": "", "seed": 1}),
    ),
)
sent("Together", "one body that ends with eos", whole(finish="eos", prompt=[]))
sent("Together", "<think> in one body", whole(f"<think>\nA date.\n</think>\n{ANSWER}", "eos"))
sent("Cohere", "COMPLETE", stream(*says(), chunk(finish="COMPLETE")))
sent("Cohere", "MAX_TOKENS", stream(*says()[:3], chunk(finish="MAX_TOKENS")), "unusable_answer")
sent("Cohere", "ERROR_TOXIC", stream(*says()[:3], chunk(finish="ERROR_TOXIC")), "content_filter")
sent(
    "Cohere",
    "tags of its thinking",
    whole(f"<|START_THINKING|>A date.<|END_THINKING|><|START_RESPONSE|>{ANSWER}<|END_RESPONSE|>"),
)
sent(
    "xAI",
    "a count with every piece, thinking first",
    stream(
        chunk({"reasoning_content": "Thinking... "}, usage=USAGE), *says(usage=USAGE), chunk(finish="stop", usage=USAGE)
    ),
)
sent("xAI", "nothing of an end but [DONE] and the count", stream(*says(), COUNT))
sent(
    "Perplexity",
    "the text so far beside each piece",
    stream(
        *[
            chunk({"content": p}, choice={"message": {"content": "".join(PIECES[: n + 1])}})
            for n, p in enumerate(PIECES)
        ],
        chunk({"content": ""}, "stop", choice={"message": {"content": ANSWER}}),
    ),
)
sent("Perplexity", "line ends of two characters", stream(*USUAL, end="\r\n\r\n"))
sent("Cloudflare", "line ends of one character", stream(*USUAL, end="\r\r"))
sent("Cloudflare", "one object in a code fence", whole(f"```json\n{ANSWER}\n```"))
sent("Bedrock gateway", "a byte order mark first", stream(*USUAL, first=b"\xef\xbb\xbf"))
sent("Bedrock gateway", "a byte order mark before one body", b"\xef\xbb\xbf" + whole())
sent(
    "Databricks",
    "content as a list of parts",
    whole([{"type": "reasoning", "summary": []}, {"type": "text", "text": ANSWER}]),
)
sent("NVIDIA NIM", "a lone closing tag in one body", whole(f"It names a date.\n</think>\n{ANSWER}"))
sent(
    "Cerebras",
    "time_info in the last piece",
    stream(*says(), chunk(finish="stop", time_info={"queue_time": 0.1}, usage=USAGE)),
)
sent(
    "SambaNova",
    "an error of the stream with a plain detail",
    stream(
        {
            "error": {
                "message": "Model did not output valid JSON.",
                "code": "output_parse_failed",
                "type": "unknown_error",
            }
        }
    ),
    "unusable_answer",
)
sent("Moonshot", "the count within the choice", stream(ROLE, *says(), chunk(finish="stop", choice={"usage": USAGE})))
sent("Zhipu", "sensitive", stream(*says()[:3], chunk(finish="sensitive")), "content_filter")
sent("Zhipu", "network_error", stream(*says()[:3], chunk(finish="network_error")), "server_error")
sent("Zhipu", "◁think▷ in the content", whole(f"◁think▷A date.◁/think▷{ANSWER}"))
sent(
    "DashScope",
    "id and event in every event",
    stream(*[b"id:%d\nevent:result\n:HTTP_STATUS/200\n%b" % (n, event(one, space="")) for n, one in enumerate(USUAL)]),
)
sent("DashScope", "a count of nothing first, choices without one", stream(without_choices(usage=None), *USUAL))
sent("mlx-lm", "comments that count", stream(b": keepalive 1/2\n\n", b": keepalive 2/2\n\n", *USUAL))
sent("mlx-lm", "one line end between events", stream(*USUAL, end="\n"))
sent("KoboldCpp", "event: message", stream(*[b"event: message\n" + event(one) for one in USUAL]))
sent(
    "KoboldCpp",
    "events of many lines",
    b"".join(b"".join(event(line, "\n") for line in json.dumps(one, indent=1).split("\n")) + b"\n" for one in USUAL)
    + event("[DONE]"),
)
sent("LocalAI", "a word before the object", stream(*says(f"Here it is:\n{ANSWER}"), STOP))
sent("LocalAI", "an empty event before each", stream(*[part for one in USUAL for part in (b"data:\n\n", one)]))
sent("text-generation-webui", "no [DONE]", stream(*USUAL, done=False))
sent("oobabooga gateway", "[DONE] as a string of JSON", stream(*USUAL, '"[DONE]"', done=False))
sent(
    "gpt-oss",
    "channels left in the content",
    whole(
        f"<|channel|>analysis<|message|>A date.<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>"
    ),
)
sent("gpt-oss", "the analysis alone", whole(f"<|channel|>analysis<|message|>{ANSWER}<|end|>"), "unusable_answer")
sent("proxy", "a web page", b"<!doctype html><title>Sign in</title>", "unusable_answer")
sent("proxy", "nothing", b"", "unusable_answer")
sent("proxy", "cut in the midst of an event", stream(*says())[:700], "unusable_answer")
sent("proxy", "cut between events", stream(*says()[:4], done=False), "unreachable")
sent("proxy", "cut before [DONE], without a word of an end", stream(*says(), done=False), "unreachable")
sent("proxy", "[DONE] in the midst of the object", stream(*says()[:-2]), "unreachable")
sent("proxy", "[DONE] after a word that follows the object", stream(*says(f"{ANSWER} And")), "unreachable")
sent("proxy", "an error as false with every piece", stream(*says(error=False), STOP))
sent("proxy", "an error as an empty text with every piece", stream(*says(error=""), STOP))
sent("proxy", "an error as a text", stream(*says()[:2], {"error": "upstream timed out"}), "server_error")
