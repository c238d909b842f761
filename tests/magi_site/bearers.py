"""Calls of the API by whoever has the secret of a token."""

from django.test import Client

COUNCILS = "/api/v1/councils"


def get(secret, client=None, scheme="Bearer"):
    return (client or Client()).get(COUNCILS, headers={"Authorization": f"{scheme} {secret}"})


def post(secret, path, content=None):
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    return client.post(f"/api/v1{path}", content or {}, content_type="application/json")
