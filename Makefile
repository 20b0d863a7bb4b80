# make book        execute every notebook, build the book, check it:  _build/html/index.html
# make test        everything that is checked
# make notebooks   re-execute the committed notebooks in place, and the reference figures with them
# make mutants     break the code in one place at a time: does a test notice? (ARGS="--only privacy" for one package)
# make portable    re-execute the notebooks as an older processor would, and compare (ARGS="--setting generic")
# make bench       speed, side by side with a plain loop
# make lock        requirements.txt from requirements.in
# make clean       remove what was built (distclean: the environment too)
#
# NOTEBOOK=cascading/ldp_regret   only this notebook; the others keep their committed outputs
# PRESET=deep                     parameters from notebooks/presets.yml
# ARGS="-p epsilon 0.3"           parameters by hand

PYTHON ?= python3
PY := .venv/bin/python
STAMP := .venv/installed
EXECUTE := $(PY) -m tools.execute $(if $(NOTEBOOK),$(foreach n,$(NOTEBOOK),--notebook $(n)))
SPHINX := .venv/bin/jupyter-book build -W -n --keep-going --quiet
PYTEST := $(PY) -m pytest -q -n 2 --dist loadfile --hypothesis-seed=0

export PYTHONUTF8 := 1
.PHONY: help book test lint notebooks mutants portable bench lock clean distclean
.DELETE_ON_ERROR:

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

$(STAMP): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(f"Python 3.11 or newer is needed, {sys.executable} is {sys.version.split()[0]}; name another with make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@test -x $(PY) || $(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

book: $(STAMP)
	$(EXECUTE) $(if $(PRESET),--preset $(PRESET)) $(ARGS)
	$(PY) -m tools.assemble _build/source _build/notebooks
	rm -rf _build/html _build/.doctrees
	$(SPHINX) _build/source --path-output .
	$(PY) -m tools.check_html _build/html _build/source
	@echo "The book: open _build/html/index.html, or: python3 -m http.server -d _build/html"

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check lib tests tools benchmarks conftest.py
	$(PY) -m mypy --no-error-summary

# nbval first: it re-executes the notebooks, and the figures they publish are what tests/notebooks/test_figures.py compares.
test: $(STAMP) lint
	rm -rf _build/figures _build/test
	$(PYTEST) --nbval --nbval-current-env --nbval-sanitize-with tests/nbval_sanitize.cfg notebooks
	$(PY) -m tools.assemble _build/test/source
	$(SPHINX) _build/test/source --path-output _build/test
	$(PY) -m tools.check_html _build/test/_build/html _build/test/source
	REQUIRE_BUILT=1 $(PYTEST) --mpl tests

notebooks: $(STAMP)
	$(EXECUTE) --in-place

mutants: $(STAMP)
	nice $(PY) -m tools.mutants $(ARGS)

portable: $(STAMP)
	$(PY) -m tools.portable $(if $(NOTEBOOK),$(foreach n,$(NOTEBOOK),--notebook $(n))) $(ARGS)

bench: $(STAMP)
	@for script in benchmarks/*.py; do echo "== $$script"; $(PY) "$$script" || exit 1; done

lock:
	$(PYTHON) -m venv _build/lock
	_build/lock/bin/pip install --quiet --disable-pip-version-check uv
	_build/lock/bin/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-emit-find-links \
		--python-version 3.11 --custom-compile-command "make lock" -o requirements.txt requirements.in

clean:
	rm -rf _build .pytest_cache .hypothesis .ruff_cache
	find . -path ./.venv -prune -o -name __pycache__ -type d -exec rm -rf {} +

distclean: clean
	rm -rf .venv
