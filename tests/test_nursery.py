"""What lets processes of tests be forks of one that has loaded everything."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.nursery import LATER, OURS

LOADED = [
    file
    for room in OURS
    for file in sorted(Path(room).rglob("*.py"))
    if "migrations" not in file.parts and file.name != "urls.py" and ".".join(file.with_suffix("").parts) not in LATER
]


def done_as_it_is_loaded(tree: ast.AST) -> Iterator[ast.AST]:
    """All of a module but the insides of its functions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for part in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
                yield from (part, *done_as_it_is_loaded(part))
        elif not isinstance(node, ast.Lambda):
            yield from (node, *done_as_it_is_loaded(node))


def test_no_module_keeps_a_setting_that_it_was_loaded_with():
    read = {
        f"{file}: {node.attr}"
        for file in LOADED
        for node in done_as_it_is_loaded(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "settings"
        if node.attr != "AUTH_USER_MODEL"  # the same wherever it is asked for
    }
    assert not read
