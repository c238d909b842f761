"""What looks like a secret is taken out of what tools bring, and what does not stays as it is."""

import pytest

from missions.secret_redaction import redact_secrets

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----"


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcDEF0123456789abcdef",
        "ghp_abcdefghij0123456789ABCDEFGH",
        "AKIAABCDEFGHIJKLMNOP",
        "xoxb-123456789012-abcdefgh",
        KEY,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3.SflKxwRJSMeKKF2QT4fwpM",
    ],
)
def test_what_has_the_form_of_a_known_key_is_taken_out_wherever_it_stands(secret):
    said = redact_secrets(f"one {secret} two\n{secret}")
    assert said == "one [secret 1] two\n[secret 1]"


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("API_KEY=q8Zr2Lm0Xv9Tn4Bw7Kd1", "API_KEY=[secret 1]"),
        ('"password": "q8Zr2Lm0Xv9Tn4Bw7Kd1"', '"password": "[secret 1]"'),
        ("postgres://magi:hunter2@db/magi", "postgres://magi:[secret 1]@db/magi"),
    ],
)
def test_what_is_named_as_one_and_looks_drawn_is_too(line, left):
    assert redact_secrets(line) == left


READ = [
    "def token_of(request): return request.META",
    "password=os.environ['MAGI_PASSWORD_FILE_PATH']",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "token: the next word of the line is the token",
    "https://example.org:443/path",
    "sk-learn",
]


def test_what_only_speaks_of_one_stays():
    assert [redact_secrets(line) for line in READ] == READ
