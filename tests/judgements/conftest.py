from tests.judgements.redacted import approved, failed  # noqa: F401 - fixtures
