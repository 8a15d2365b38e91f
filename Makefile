PYTHON ?= .venv/bin/python

.PHONY: check lint test

check: lint test

lint: .check
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	cd .check && ../$(PYTHON) -m mypy --config-file ../pyproject.toml
	cd .check && PYTHONPATH=. ../$(PYTHON) -c "from importlinter.cli import lint_imports_command as c; c()" --config ../pyproject.toml

test:
	$(PYTHON) -m pytest

# mypy and import-linter know no package mapping: they see the installed layout as links.
.check: $(wildcard localmem/*)
	rm -rf .check
	mkdir -p .check/localmem
	for part in localmem/*; do ln -s ../../$$part .check/localmem/; done
	ln -s ../../models .check/localmem/models
	ln -s ../../tui .check/localmem/tui
