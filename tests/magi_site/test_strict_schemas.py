"""JSON is read without guessing, by one rule at every door: no text or number is a yes or no, no text a number."""

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from django.test import Client
from pydantic import BaseModel, TypeAdapter, ValidationError

from engine.policy import parse_policy
from magi_site import automation_endpoint, chat_endpoint
from magi_site.api import api
from magi_site.environment import Environment
from magi_site.mcp_servers import McpServerSetting
from magi_site.model_providers import ProviderSetting
from magi_site.strict_json import InvalidJson, dict_without_duplicates
from plans import team_files
from plans.rules.approval_policy import CAREFUL_POLICY
from runs.procedure.schemas import Flag
from runs.procedure.spec import specs
from tests.callers import bearer

APIS = (api, automation_endpoint.api, chat_endpoint.api)
FORGED: dict[type, tuple[Any, ...]] = {
    bool: ("yes", "true", "on", 1, 0, 1.0),
    int: (True, "3", 3.5),
    float: (True, "3"),
    str: (True, 3, 3.5),
}


def routers(one: Any) -> Iterator[Any]:
    for _, router, *_ in one._routers:
        yield router
        yield from routers(router) if router is not one else ()


def bodies() -> Iterator[type[BaseModel]]:
    """Of all calls of the three APIs, of the tools of our MCP server, and of settings."""
    for router in {id(router): router for one in APIS for router in routers(one)}.values():
        for operation in (one for view in router.path_operations.values() for one in view.operations):
            for model in (one for one in operation.models if one.__ninja_param_source__ == "body"):
                yield from (field.annotation for field in model.model_fields.values())
    yield from (offer.asked for face in specs().values() for offer in face.offers if offer.asked)
    yield from (ProviderSetting, McpServerSetting)


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from models_in(field.annotation)
    for one in get_args(annotation):
        yield from models_in(one)


def forgeries(field: Any) -> Iterator[Any]:
    """What would be guessed at: of each type that the field does not also take."""
    plain = {one for one in _leaves(field.annotation) if isinstance(one, type)}
    if plain & set(FORGED) and Any not in _leaves(field.annotation):
        for kind in plain & set(FORGED):
            yield from (value for value in FORGED[kind] if type(value) not in plain)


def _leaves(annotation: Any) -> list[Any]:
    parts = get_args(annotation) if not isinstance(annotation, type) else ()
    return [leaf for part in parts for leaf in _leaves(part)] if parts else [annotation]


def test_no_body_is_read_by_a_guess():
    models = {model for body in bodies() for model in models_in(body)}
    assert len(models) > 30
    guessed = [
        (model.__name__, name, value)
        for model in models
        for name, field in model.model_fields.items()
        for value in forgeries(field)
        if not complains(model, field.alias or name, value)
    ]
    assert guessed == []


def complains(model: type[BaseModel], name: str, value: Any) -> bool:
    try:
        model.model_validate({name: value})
    except ValidationError as wrong:
        return any(error["loc"][:1] == (name,) for error in wrong.errors(include_url=False))
    return False


def test_a_flag_in_an_address_is_true_or_false_and_nothing_else():
    read = TypeAdapter(Flag).validate_python
    assert [read(one) for one in ("true", "1", "false", "0")] == [True, True, False, False]
    for written in ("yes", "on", "t", "TRUE", "", "2", " true"):
        with pytest.raises(ValidationError):
            read(written)


@pytest.mark.django_db
def test_a_yes_that_is_no_boolean_approves_nothing(mira):
    asked = {"plan_id": "x", "session_id": "x", "step_id": "x", "approved": "yes"}
    client = Client(headers=bearer(mira, scopes=["decide"]))
    answer = client.post("/api/automation/human_feedback", json.dumps(asked), "application/json")
    assert (answer.status_code, "approved" in answer.content.decode()) == (422, True)


def test_a_file_of_a_team_says_yes_or_no_and_numbers_as_such():
    wrong = [("ahead", "yes"), ("ahead", 1)]
    wrong += [
        ("plan", {"who": "person", key: value}) for key, value in (("four_eyes", "yes"), ("blind", 1), ("persons", "2"))
    ]
    for key, value in wrong:
        with pytest.raises(team_files.InvalidTeamFile):
            team_files.parse_team(
                {"name": "A", "agents": [{"name": "B"}], "policy": CAREFUL_POLICY.as_json() | {key: value}}
            )
    with pytest.raises(ValueError, match="no such policy"):
        parse_policy({"who": "both", "council": "A", "blind": 0})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MAGI_PROVIDERS", {"a": {"base_url": "http://a.example/v1", "concurrency": "20"}}),
        ("MAGI_PROVIDERS", {"a": {"base_url": "http://a.example/v1", "price": {"input": "1", "output": 1}}}),
        ("MAGI_PROVIDERS", {"a": {"base_url": "http://a.example/v1", "context": "32768"}}),
        ("MAGI_MCP_SERVERS", {"a": {"url": "http://a.example/mcp", "timeout": "20"}}),
    ],
)
def test_a_setting_in_json_is_read_the_same_way(monkeypatch, variable, value):
    monkeypatch.setenv(variable, json.dumps(value))
    with pytest.raises(ValidationError):
        Environment()


class Compared(str):
    """A name that counts how often it is compared with others."""

    times = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)


def test_of_many_names_the_one_that_is_there_twice_is_found_by_a_look_at_each():
    pairs = [(Compared(number), 0) for number in (*range(500), 499)]
    with pytest.raises(InvalidJson, match='names "499" twice'):
        dict_without_duplicates(pairs)
    assert Compared.times < 1_000
