# ruff: noqa: E501 - a row is a line
"""Errors with a status: a server, the status, what it says, and what has to come of it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Refused:
    """`ends`: the code of the failure. `tells`: words that whoever reads its sentence has to find there."""

    server: str
    status: int
    body: str
    ends: str
    tells: str = ""
    away: bool = False
    wait: float | None = None
    step: str = ""  # the part of the request that is left out from now on
    headers: Mapping[str, str] = field(default_factory=dict)


REFUSED: list[Refused] = []


def refused(server: str, status: int, body: Any, ends: str, tells: str = "", **more: Any) -> None:
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    REFUSED.append(Refused(server, status, text, ends, tells, **more))


def error(message: Any, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message} | more}


def format_refused(server: str, status: int, body: Any, step: str = "response_format") -> None:
    refused(server, status, body, "format_refused", "it is asked in another way", step=step)


# ---- a refused key ------------------------------------------------------------------------------------------

KEY = "unauthorized"
refused(
    "OpenAI", 401, error("Incorrect API key provided: sk-ab***yz.", code="invalid_api_key"), KEY, "Incorrect API key"
)
refused("OpenAI", 401, error("You didn't provide an API key."), KEY, "refused the key")
refused(
    "Gemini",
    400,
    [error("API key not valid. Please pass a valid API key.", code=400, status="INVALID_ARGUMENT")],
    KEY,
    "not valid",
)
refused("Gemini", 400, error("Bad request", code=400, details=[{"reason": "API_KEY_INVALID"}]), KEY, "refused the key")
refused("Gemini", 400, error("API key expired. Please renew the API key."), KEY, "expired")
refused(
    "Anthropic",
    401,
    {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}},
    KEY,
    "x-api-key",
)
refused("Mistral", 401, {"message": "Unauthorized", "request_id": "r"}, KEY, "Unauthorized")
refused("Mistral", 401, {"detail": "Unauthorized"}, KEY, "refused the key")
refused("DeepSeek", 401, error("Authentication Fails, Your api key: ****1 is invalid"), KEY, "Authentication Fails")
refused(
    "LiteLLM",
    401,
    error("Authentication Error, No api key passed in.", type="auth_error", code="401"),
    KEY,
    "No api key",
)
refused(
    "LiteLLM",
    400,
    error("Authentication Error, Invalid proxy server token passed", type="auth_error", code="400"),
    KEY,
    "token passed",
)
refused(
    "xAI",
    400,
    {"code": "Client specified an invalid argument", "error": "Incorrect API key provided: xa***k."},
    KEY,
    "Incorrect API key",
)
refused("Cohere", 401, {"id": "i", "message": "invalid api token"}, KEY, "invalid api token")
refused(
    "Azure",
    401,
    {"statusCode": 401, "message": "Access denied due to invalid subscription key"},
    KEY,
    "subscription key",
)
refused(
    "Together",
    401,
    error("Invalid API key provided.", type="invalid_request_error", code="invalid_api_key"),
    KEY,
    "Invalid API key",
)
refused("vLLM", 401, {"error": "Unauthorized"}, KEY, "Unauthorized")
refused("Fireworks", 403, {"error": "The API key you provided is invalid."}, KEY, "is invalid")
refused(
    "DashScope",
    401,
    error("Incorrect API key provided.", type="invalid_request_error", code="invalid_api_key"),
    KEY,
    "Incorrect",
)
refused("proxy", 401, "", KEY, "refused the key (401)")
refused("proxy", 403, "<html>Forbidden</html>", KEY, "refused the key (403)")

# ---- a 403 that is about something else ---------------------------------------------------------------------

refused(
    "OpenAI",
    403,
    error("Country, region, or territory not supported", code="unsupported_country_region_territory"),
    KEY,
    "does not allow",
)
refused(
    "Gemini",
    400,
    [error("User location is not supported for the API use.", status="FAILED_PRECONDITION")],
    "refused",
    "location",
)
refused(
    "xAI",
    403,
    {"code": "permission-denied", "error": "Your team has no access to this endpoint."},
    KEY,
    "Your team has no access",
)
refused(
    "Groq",
    403,
    error("The model is blocked at the project level.", type="permissions_error"),
    KEY,
    "blocked at the project",
)
refused(
    "Anthropic",
    403,
    {"type": "error", "error": {"type": "permission_error", "message": "Your plan lacks this."}},
    KEY,
    "Your plan lacks this",
)
refused(
    "OpenRouter",
    403,
    error("Your chosen model requires moderation and your input was flagged", code=403),
    KEY,
    "flagged",
)

# ---- money --------------------------------------------------------------------------------------------------

refused("OpenAI", 429, error("You exceeded your current quota.", code="insufficient_quota"), "quota")
refused(
    "Anthropic",
    400,
    {"type": "error", "error": {"type": "invalid_request_error", "message": "Your credit balance is too low."}},
    "quota",
)
refused("DeepSeek", 402, error("Insufficient Balance"), "quota", "Insufficient Balance")
refused(
    "OpenRouter",
    402,
    error("This request requires more credits, or fewer max_tokens.", code=402),
    "quota",
    "more credits",
)
refused("xAI", 403, {"error": "Your newly created team doesn't have any credits. Buy more credits."}, "quota")
refused("HF router", 402, {"error": "You have exceeded your monthly included credits."}, "quota", "monthly")

# ---- a prompt that is too long ------------------------------------------------------------------------------

LONG = "too long"
for server, status, body in (
    ("OpenAI", 400, error("This model's maximum context length is 8192 tokens.", code="context_length_exceeded")),
    ("OpenAI", 400, error("Your input exceeds the context window of this model.")),
    ("OpenAI", 429, error("Request too large for m on tokens per min (TPM): Limit 10000, Requested 12000.", code="rate_limit_exceeded")),
    ("llama.cpp", 400, error("the request exceeds the available context size, try increasing it", code=400, type="exceed_context_size_error")),
    ("llama.cpp", 500, error("input is too large to process. increase the physical batch size", code=500, type="server_error")),
    ("vLLM", 400, {"object": "error", "message": "The decoder prompt (length 9000) is longer than the maximum model length of 4096.", "code": 400}),
    ("vLLM", 400, error("This model's maximum context length is 4096 tokens. However, you requested 9000 tokens.", code=400)),
    ("Anthropic", 400, {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 213000 tokens > 200000 maximum"}}),
    ("Anthropic", 400, {"type": "error", "error": {"type": "invalid_request_error", "message": "input length and `max_tokens` exceed context limit"}}),
    ("Anthropic", 413, {"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
    ("Gemini", 400, [error("The input token count exceeds the maximum number of tokens allowed 1048576.")]),
    ("Gemini", 400, error("The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).")),
    ("Mistral", 400, {"object": "error", "message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"}),
    ("TGI", 422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 9000", "error_type": "validation"}),
    ("TGI", 422, {"error": "Input validation error: `inputs` must have less than 4096 tokens. Given: 9000", "error_type": "validation"}),
    ("LM Studio", 400, {"error": "The number of tokens to keep from the initial prompt is greater than the context length."}),
    ("LM Studio", 400, {"error": "Trying to keep the first 6000 tokens when context the overflows. Reached context length of 4096"}),
    ("Ollama", 400, {"error": {"message": "the input length exceeds the context length", "type": "invalid_request_error"}}),
    ("SGLang", 400, {"object": "error", "message": "Input length (9000 tokens) exceeds the maximum allowed length (4091 tokens).", "code": 400}),
    ("SGLang", 400, {"object": "error", "message": "The input (9000 tokens) is longer than the model's context length (4096 tokens)."}),
    ("Groq", 413, error("Request too large for model `m`: Limit 6000, Requested 7000, please reduce your message size", code="rate_limit_exceeded")),
    ("Groq", 400, error("Please reduce the length of the messages or completion.", code="context_length_exceeded")),
    ("Cohere", 400, {"message": "too many tokens: total number of tokens in the prompt cannot exceed 4081"}),
    ("xAI", 400, {"error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."}),
    ("Together", 422, error("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193", type="invalid_request_error")),
    ("Fireworks", 400, error("The prompt is too long: 140000, model maximum context length: 131071")),
    ("Moonshot", 400, error("Invalid request: Your request exceeded model token limit: 8192", type="invalid_request_error")),
    ("Zhipu", 400, error("Prompt exceeds max length", code="1261")),
    ("DashScope", 400, error("Range of input length should be [1, 30720]", code="invalid_parameter_error")),
    ("Cerebras", 400, {"message": "Please reduce the length of the messages. Current length is 9000 while limit is 8192", "code": "context_length_exceeded"}),
    ("GitHub", 413, error("Request body too large for m model. Max size: 8000 tokens.", code="tokens_limit_reached")),
    ("Bedrock gateway", 400, {"detail": "An error occurred (ValidationException): Input is too long for requested model."}),
    ("LiteLLM", 400, error("litellm.ContextWindowExceededError: prompt is too long", type=None, code="400")),
    ("OpenRouter", 400, error("This endpoint's maximum context length is 32768 tokens.", code=400, metadata={"provider_name": None})),
    ("OpenRouter", 400, error("Provider returned error", code=400, metadata={"raw": '{"message":"prompt is too long: 9 > 8"}'})),
):  # fmt: skip
    refused(server, status, body, "refused", LONG)

# ---- a part of the request that is not taken ----------------------------------------------------------------

for server, status, body in (
    ("OpenAI", 400, error("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.")),
    ("OpenAI", 400, error("Invalid schema for response_format 'd': In context=(), 'additionalProperties' is required to be false.")),
    ("OpenAI", 400, error("Invalid schema: 'minItems' is not permitted.", param="response_format")),
    ("OpenAI", 400, error("'anyOf' is not permitted at the root.", param="text.format.schema")),
    ("Azure", 400, error("response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later")),
    ("Azure", 400, error("Unknown parameter: 'structured_outputs'.", code="unknown_parameter")),
    ("Gemini", 400, [error("Invalid JSON payload received. Unknown name \"additionalProperties\" at 'generation_config.response_schema': Cannot find field.")]),
    ("Gemini", 400, [error("The specified schema produces a constraint that has too many states for serving.", status="INVALID_ARGUMENT")]),
    ("Anthropic", 400, {"type": "error", "error": {"type": "invalid_request_error", "message": "output_format: Extra inputs are not permitted"}}),
    ("DeepSeek", 400, error("This response_format type is unavailable now", type="invalid_request_error")),
    ("DeepSeek", 400, error("Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.")),
    ("Mistral", 422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "response_format", "json_schema"], "msg": "Extra inputs are not permitted"}]}),
    ("vLLM", 400, {"object": "error", "message": "The provided JSON schema contains features not supported by xgrammar.", "code": 400}),
    ("vLLM", 400, error("guided_json is not supported with this backend", code=400)),
    ("vLLM", 422, {"detail": [{"loc": ["body", "guided_json"], "msg": "Extra inputs are not permitted"}]}),
    ("SGLang", 400, {"object": "error", "message": "Failed to compile json schema: unsupported keyword maxItems"}),
    ("SGLang", 500, error("structured outputs are not supported with speculative decoding", code=500)),
    ("TGI", 422, {"error": "Grammar is not supported", "error_type": "grammar_support"}),
    ("TGI", 422, {"error": "Invalid grammar: unsupported keyword", "error_type": "validation"}),
    ("llama.cpp", 400, error("failed to parse grammar", code=400, type="invalid_request_error")),
    ("llama.cpp", 500, error("JSON schema conversion failed: unsupported $ref", code=500, type="server_error")),
    ("llama.cpp", 400, error('Either "json_schema" or "grammar" can be specified, but not both', code=400)),
    ("Ollama", 400, error("invalid JSON schema in format", type="invalid_request_error")),
    ("Ollama", 500, error("failed to load model vocabulary required for format: unsupported", type="api_error")),
    ("LM Studio", 400, {"error": "'response_format.type' must be 'json_schema' or 'text'"}),
    ("Groq", 400, error("invalid schema for response format: response_format/json_schema/next_step: minItems is not supported")),
    ("Groq", 400, error("This model does not support response format `json_schema`.", param="response_format")),
    ("Together", 400, error("guided decoding is unavailable for this model", type="invalid_request_error")),
    ("Fireworks", 400, error("JSON Schema not supported: could not understand the instance")),
    ("Cohere", 400, {"message": "unsupported JSON schema: minItems is not supported"}),
    ("xAI", 400, {"error": "Invalid request content: allOf is unsupported in structured outputs"}),
    ("OpenRouter", 404, error("No endpoints found that can handle the requested parameters.", code=404)),
    ("LiteLLM", 400, error("litellm.UnsupportedParamsError: m does not support parameters: ['response_format']", code="400")),
    ("LiteLLM", 500, error("litellm.APIConnectionError: json_schema is not supported for this provider", code="500")),
    ("Moonshot", 400, error("unknown field: strict mode of “json_schema” is not supported")),
    ("Perplexity", 400, error("At body -> response_format -> json_schema: unsupported", type="bad_request")),
):  # fmt: skip
    format_refused(server, status, body)
format_refused("OpenAI", 400, error("Unrecognized request argument supplied: stream_options"), "stream_options")
format_refused(
    "Mistral",
    422,
    {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]},
    "stream_options",
)
format_refused("vLLM", 400, error("System role not supported", code=400), "system")
format_refused("Bedrock gateway", 400, {"detail": "This model doesn't support system messages."}, "system")

# ---- a bad sample of the model ------------------------------------------------------------------------------

for message, code in (
    ("Failed to generate JSON. Please adjust your prompt.", "json_validate_failed"),
    ("Failed to validate JSON. Please adjust your prompt.", "json_validate_failed"),
    (
        "Generated JSON does not match the expected schema. Error: missing properties: 'decision'",
        "json_validate_failed",
    ),
    ("Tool choice is none, but model called a tool", "tool_use_failed"),
    ("Parsing failed. The model generated output that could not be parsed.", "output_parse_failed"),
):
    body = error(message, type="invalid_request_error", code=code, failed_generation='{"reason": "The')
    refused("Groq", 400, body, "unusable_answer", message[:20])
refused("SambaNova", 400, error("Model did not output valid JSON.", code="json_validate_failed"), "unusable_answer")

# ---- away, busy, or at a limit ------------------------------------------------------------------------------

AWAY, LIMIT = "server_error", "rate_limited"
refused("llama.cpp", 503, error("Loading model", code=503, type="unavailable_error"), AWAY, "Loading model", away=True)
refused(
    "HF router",
    503,
    {"error": "Model m is currently loading", "estimated_time": 20.0},
    AWAY,
    "loading",
    away=True,
    wait=20,
)
refused(
    "Ollama",
    503,
    error("server busy, please try again. maximum pending requests exceeded"),
    AWAY,
    "server busy",
    away=True,
)
refused("Ollama", 500, error("llama runner process has terminated: signal: killed"), AWAY, "terminated")
refused(
    "Anthropic",
    529,
    {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    AWAY,
    "Overloaded",
    away=True,
)
refused(
    "OpenAI", 503, error("The engine is currently overloaded, please try again later."), AWAY, "overloaded", away=True
)
refused("OpenAI", 500, error("The server had an error while processing your request."), AWAY, "had an error")
refused(
    "OpenAI",
    429,
    error("Rate limit reached. Please try again in 7.66s.", code="rate_limit_exceeded"),
    LIMIT,
    away=True,
    wait=7.66,
)
refused(
    "OpenAI", 429, error("Rate limit reached. Limit 3. Please try again in 1m20s."), LIMIT, "80 s", away=True, wait=80
)
refused("OpenAI", 429, error("Rate limit reached"), LIMIT, away=True, wait=0.5, headers={"retry-after-ms": "500"})
refused("OpenAI", 429, error("Rate limit"), LIMIT, away=True, wait=12, headers={"x-ratelimit-reset-tokens": "12s"})
refused(
    "Groq",
    429,
    error("Rate limit reached. Please try again in 2m59.56s.", code="rate_limit_exceeded"),
    LIMIT,
    away=True,
    wait=179.56,
)
RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}
refused(
    "Gemini",
    429,
    [error("You exceeded your current quota.", status="RESOURCE_EXHAUSTED", details=[RETRY])],
    LIMIT,
    away=True,
    wait=37,
)
refused(
    "Gemini",
    503,
    [error("The model is overloaded. Please try again later.", status="UNAVAILABLE")],
    AWAY,
    "overloaded",
    away=True,
)
refused("Azure", 429, error("Please retry after 9 seconds.", code="429"), LIMIT, away=True, wait=9)
refused("Mistral", 429, {"message": "Requests rate limit exceeded"}, LIMIT, away=True)
refused("Cohere", 429, {"message": "Please wait 20 seconds and try again"}, LIMIT, away=True, wait=20)
refused("Together", 429, error("You have reached the rate limit.", type="model_rate_limit"), LIMIT, away=True)
refused("Fireworks", 503, {"error": "no available server"}, AWAY, "no available server", away=True)
refused(
    "LiteLLM", 429, error("No deployments available. Try again in 5 seconds.", code="429"), LIMIT, away=True, wait=5
)
refused(
    "LiteLLM",
    500,
    error("litellm.InternalServerError: Connection error.", code="500"),
    AWAY,
    "Connection error",
    away=True,
)
refused(
    "OpenRouter",
    429,
    error("Provider returned error", code=429, metadata={"raw": "m is rate-limited. Retry in 30 seconds"}),
    LIMIT,
    away=True,
    wait=30,
)
refused(
    "OpenRouter",
    502,
    error("Provider returned error", code=502, metadata={"raw": '{"error":{"message":"upstream is gone"}}'}),
    AWAY,
    "upstream is gone",
    away=True,
)
refused("Cloudflare", 524, "<title>524: A timeout occurred</title>", AWAY, "(524)", away=True)
refused(
    "Cloudflare",
    429,
    {"success": False, "errors": [{"code": 3040, "message": "Capacity temporarily exceeded"}]},
    LIMIT,
    away=True,
)
refused("proxy", 502, "<html><title>502 Bad Gateway</title></html>", AWAY, "(502)", away=True)
refused("proxy", 504, "", AWAY, "(504)", away=True)
refused("proxy", 503, "no healthy upstream", AWAY, "no healthy upstream", away=True)
refused(
    "GitHub", 403, {"message": "API rate limit exceeded. Please retry after 60 seconds."}, LIMIT, away=True, wait=60
)
refused("vLLM", 500, {"object": "error", "message": "list index out of range", "code": 500}, AWAY, "out of range")

# ---- words, wherever they stand -----------------------------------------------------------------------------

refused(
    "LM Studio", 400, {"error": "The model is not loaded. Load it in the server first."}, "refused", "is not loaded"
)
refused(
    "LM Studio",
    404,
    error("No models loaded. Please load a model in the developer page."),
    "unknown_model",
    "No models loaded",
)
refused(
    "vLLM",
    404,
    {"object": "error", "message": "The model `m` does not exist.", "type": "NotFoundError", "code": 404},
    "unknown_model",
    "does not exist",
)
refused("Ollama", 404, error('model "m" not found, try pulling it first', type="api_error"), "unknown_model", "pulling")
refused(
    "Gemini",
    404,
    [error("models/gemini-9 is not found for API version v1main", code=404)],
    "unknown_model",
    "is not found",
)
refused(
    "Mistral",
    400,
    {"object": "error", "message": "Invalid model: m", "type": "invalid_model", "code": "1500"},
    "unknown_model",
)
refused(
    "Databricks",
    400,
    {"error_code": "BAD_REQUEST", "message": "The adapter is not deployed."},
    "refused",
    "not deployed",
)
refused("Databricks", 400, {"detail": "The adapter is not deployed in this workspace."}, "refused", "not deployed")
refused(
    "FastAPI",
    422,
    {"detail": [{"type": "missing", "loc": ["body", "project"], "msg": "Field required"}]},
    "refused",
    "body.project: Field required",
)
refused(
    "Mistral",
    422,
    {"message": {"detail": [{"loc": ["body", "n"], "msg": "too large"}]}},
    "refused",
    "body.n: too large",
)
refused(
    "Cloudflare",
    400,
    {"success": False, "errors": [{"code": 5006, "message": "The account has no such door."}]},
    "refused",
    "no such door",
)
refused(
    "NVIDIA NIM",
    400,
    {"type": "about:blank", "title": "Bad Request", "detail": "Inference connection is closed"},
    "refused",
    "Inference connection",
)
refused(
    "Spring gateway",
    400,
    {"status": 400, "error": "Bad Request", "message": "The tenant is asleep."},
    "refused",
    "tenant is asleep",
)
refused("Apigee", 400, {"fault": {"faultstring": "Body buffer overflow"}}, "refused", "buffer overflow")
refused("Bedrock gateway", 400, {"Message": "The region is closed."}, "refused", "region is closed")
refused("proxy", 400, "upstream says: tenant is suspended", "refused", "tenant is suspended")
refused("proxy", 400, "<html><title>Bad Request</title></html>", "refused", "refused the request (400).")
refused("proxy", 302, "", "refused", "redirects")
refused("Azure", 400, error("The response was filtered.", code="content_filter"), "content_filter", "was filtered")
