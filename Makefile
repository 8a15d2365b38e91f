PYTHON ?= .venv/bin/python
override PYTHON := $(abspath $(PYTHON))

.PHONY: check lint test layout

check: lint test

lint: layout
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	cd .check && $(PYTHON) -m mypy --config-file ../pyproject.toml
	cd .check && PYTHONPATH=. $(PYTHON) -c "from importlinter.cli import lint_imports_command as lint; lint()" ../pyproject.toml

test:
	$(PYTHON) -m pytest

# mypy and import-linter know no package mapping: they see the installed layout as links.
layout:
	rm -rf .check
	mkdir -p .check/localmem
	for part in localmem/*; do ln -s ../../$$part .check/localmem/; done
	ln -s ../../models .check/localmem/models
	ln -s ../../tui .check/localmem/tui
