"""What the documents say about the house, kept true."""

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from engine.llm import errors
from magi_site.environment import WRONG_CONFIGURATION, Environment
from runs.procedure.spec import specs

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
DOCUMENTS = sorted(
    path for pattern in ("*.md", "docs/*.md", "*/DESIGN.md", "tests/README.md") for path in ROOT.glob(pattern)
)
STYLES = sorted((ROOT / "static" / "css").glob("*.css"))


def text_of(path: str) -> str:
    return (ROOT / path).read_text()


def test_every_environment_variable_is_documented_and_no_other():
    documented = set(re.findall(r"^\| `([A-Z_]+)`", text_of("docs/configuration.md"), re.MULTILINE))
    assert documented == set(Environment.model_fields)


def test_every_folder_of_the_top_level_is_explained():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    folders = {path.split("/")[0] for path in tracked if "/" in path and not path.startswith(".")}
    explained = set(re.findall(r"^(\w+)/ ", text_of("docs/architecture.md"), re.MULTILINE))
    assert folders == explained


def test_no_service_starts_again_with_a_wrong_configuration():
    units = sorted((ROOT / "deploy").glob("*.service"))
    assert [unit.name for unit in units] == ["magi-engine@.service", "magi-site.service"]
    for unit in units:
        assert f"RestartPreventExitStatus={WRONG_CONFIGURATION}\n" in unit.read_text()


def test_every_decision_that_the_code_names_is_explained():
    files = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    named = {name for path in files for name in re.findall(r"Why so: (\w+/DESIGN\.md, [^.]+)\.", text_of(path))}
    designs = {f"{path.parent.name}/DESIGN.md": path.read_text() for path in ROOT.glob("*/DESIGN.md")}
    headings = {f"{path}, {name}" for path in designs for name in re.findall(r"^## (.+)$", designs[path], re.MULTILINE)}
    assert named == headings


def test_every_error_code_is_documented():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "code")]
    missing = [kind.code for kind in kinds if f"`{kind.code}`" not in text_of("docs/architecture.md")]
    assert missing == []


def test_every_attack_that_is_listed_is_played():
    listed = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text_of("docs/security.md"))
    gone = [f"{path}::{name}" for path, name in listed if f"def {name}(" not in text_of(path)]
    assert gone == []


def test_no_line_of_a_document_is_too_long_but_rows_of_tables():
    lines = [(path.name, line) for path in DOCUMENTS for line in path.read_text().splitlines()]
    too_long = [(name, line) for name, line in lines if len(line) > 120 and not line.startswith("|")]
    assert not too_long


def test_each_example_of_how_to_write_a_test_is_a_test():
    examples = re.findall(r"```python\n(.+?)```", text_of("tests/README.md"), re.DOTALL)
    tests = "".join(path.read_text() for path in sorted((ROOT / "tests").rglob("test_*.py")))
    assert [example for example in examples if example not in tests] == []


def test_the_flash_stays_below_three_a_second_for_three_blocks():
    css = "".join(path.read_text() for path in STYLES)
    durations = [int(ms) for ms in re.findall(r"--flash:\s*(\d+)ms", css)]
    assert durations
    assert min(durations) >= 1000


def test_locked_requirements_hold_pins_and_hashes_only():
    ours, others = ("requirements.txt", "requirements-dev.txt"), ("litellm", "real")
    files = (*ours, *(f"tests/requirements-{name}.txt" for name in others))
    lines = [line for path in files for line in text_of(path).splitlines()]
    assert [line for line in lines if not re.match(r"[a-z0-9-]+(\[[a-z,-]+\])?==\S+ |    --hash=sha256:", line)] == []


OWN_WORDS = {"judgement": "judge judging verdict council seat criteria swayed carried receipt"}  # beside its names
VERBS = ("check", "checks")  # of the tests' procedure: in prose they are everybody's, so they are sought as names alone
ALLOWED = {
    ("plan", "engine/doctor.py"): "of migrations, as Django calls it",
    ("plan", "engine/db/empty_database.py"): "of migrations, as Django calls it",
    ("judgement", "engine/doctor.py"): "says how long one takes: the measure of speed that people know",
    ("check", "templates/admin/runs/run.html"): "the name of a small picture, a hook",
    ("check", "templates/runs/saved/page.html"): "the name of a small picture, a hook",
    ("check", "templates/runs/badges.html"): "the name of a small picture, a hook",
    ("judging", "runs/procedure/spec.py"): "a sign and a colour of the style sheets, which all kinds have",
    ("receipt", "engine/ledger/signing.py"): "says what the one key signs, whoever asks for it",
    ("receipt", "runs/api/scopes.py"): "says to people what a scope opens, in all words that they know it by",
}
AT_GATES = (
    *("engine/models/gates.py", "engine/models/gate_rules.py", "engine/ledger/immutability.py", "engine/policy.py"),
    *("engine/runtime/run_context.py", "engine/councils.py", "engine/council_approval.py", "engine/gate_decisions.py"),
    *(
        "runs/rights.py",
        "runs/approvals/pending.py",
        "runs/procedure/gate_page.py",
        "runs/admin/gates.py",
        "runs/views/gates.py",
        "runs/urls.py",
    ),
    *(
        "engine/admin.py",
        "engine/run_control.py",
        "engine/runtime/tool_execution.py",
        "engine/runtime/procedure.py",
        "runs/procedure/wait_reason.py",
    ),
    *("runs/live/related_runs.py", "runs/run_actions.py", "runs/urls.py", "templates/runs/fragments/_wait.html"),
    *("runs/api/gates.py", "runs/run_object.py", "runs/procedure/schemas.py", "templates/runs/gate.html"),
    *("templates/runs/_at_gate.html", "templates/runs/_at_gate_said.html", "runs/approvals/stats.py"),
    *("engine/models/gate_access.py", "runs/record/document.py"),
)
ALLOWED |= {("council", path): "whom a gate may ask beside persons, whatever kind of run that is" for path in AT_GATES}


def sought(kind: str) -> Iterator[tuple[str, str]]:
    """Every word of a procedure, and by what pattern it is found: its names, and what only it has."""
    face = specs()[kind]
    for word in {kind, face.noun, face.nouns, *OWN_WORDS.get(kind, "").split()}:
        yield word, rf"""["'/]{word}["'/]""" if word in VERBS else rf"(?<![a-z]){word}s?(?![a-z])"


def scripts_of_one_kind() -> set[str]:
    """Those that nothing but the pages of a procedure loads."""
    folders = {face.nouns for face in specs().values()}
    of_kinds, of_all = set(), set()
    for path in TEMPLATES:
        found = set(re.findall(r'static "(js/[^"]+)"', path.read_text()))
        (of_kinds if path.relative_to(ROOT / "templates").parts[0] in folders else of_all).update(found)
    return {f"static/{script}" for script in of_kinds - of_all}


def shared_files() -> dict[str, str]:
    """The text of each file that all procedures share, in small letters."""
    rooms = ("engine", "runs", "toolbox", "templates/runs", "templates/admin/runs", "static/js")
    tracked = subprocess.run(["git", "ls-files", *rooms], cwd=ROOT, capture_output=True, text=True).stdout.split()
    shared = [path for path in tracked if path.endswith((".py", ".html", ".js")) and "/migrations/" not in path]
    return {path: text_of(path).lower() for path in set(shared) - scripts_of_one_kind()}


def test_what_all_procedures_share_has_no_word_of_one():
    texts = shared_files()
    found = {
        (word, path)
        for kind in settings.PROCEDURES
        for word, look in sought(kind)
        for path, text in texts.items()
        if re.search(look, text)
    }
    assert sorted(found - ALLOWED.keys()) == []


def test_class_names_are_unique():
    usual = {"Meta", "Command", "Config", "Migration", "Status", "State"}  # Django's own, and enumerations of a model
    files = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    found = [(name, path) for path in files for name in re.findall(r"^class (\w+)", text_of(path), re.MULTILINE)]
    twice = {name for name, number in Counter(name for name, _ in found).items() if number > 1}
    assert twice - usual == set()


def test_functions_named_like_questions_return_bool():
    files = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    question = re.compile(r"^ *(?:async )?def (_?(?:is|has|can)_\w+)\([^\n]*\) -> ([^\n]+):$", re.MULTILINE)
    found = [(path, *match) for path in files for match in question.findall(text_of(path))]
    assert [one for one in found if not one[2].startswith("bool")] == []
