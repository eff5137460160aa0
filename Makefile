# make demo: the main job, on data that needs no download. make test: every test.
# Both make .venv and install into it first; the second time that is there already.

PYTHON ?= python3
VENV ?= .venv

demo: $(VENV)/demo-installed
	$(VENV)/bin/purefit train digits --epochs 30 --batch-size 32

test: $(VENV)/test-installed
	$(VENV)/bin/python -m pytest -n auto --dist loadfile

# Linters, types and the import contract, with what `make test` installs.
check: $(VENV)/test-installed
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo-installed: $(VENV)/bin/python pyproject.toml
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/test-installed: $(VENV)/bin/python pyproject.toml
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@ $(VENV)/demo-installed

.PHONY: demo test check
