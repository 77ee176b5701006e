# For work on gpumem itself; users need only pip. PYTHON needs '.[test,dev]' installed.
PYTHON ?= python3
CLANG_FORMAT ?= $(PYTHON) -c 'import clang_format; clang_format.clang_format()'
LINT_IMPORTS ?= $(PYTHON) -c 'from importlinter.cli import lint_imports_command as c; c()'
C_FILES = $(shell find csrc tests examples -name '*.[ch]' -o -name '*.cu')

.PHONY: build test bench notebooks site format lint clean

build:  ## build the extension module in place, compiling only what changed
	$(PYTHON) csrc/build.py

test: build
	$(PYTHON) -m pytest -n auto

bench: build
	$(PYTHON) -m gpumem bench copy

notebooks:  ## strip outputs, as the notebooks are committed
	$(PYTHON) tools/notebooks.py

site: build  ## the documentation, in build/site/html; needs '.[docs]'
	$(PYTHON) tools/site.py

format:  ## reformat Python and C
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .
	$(CLANG_FORMAT) -i $(C_FILES)

lint:  ## format, clang-tidy, docstrings, imports, types, and the stub of the extension module
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(CLANG_FORMAT) --dry-run -Werror $(C_FILES)
	$(PYTHON) tools/tidy.py
	$(PYTHON) tools/check_layers.py
	$(LINT_IMPORTS) --no-cache
	$(PYTHON) -m mypy
	$(PYTHON) tools/check_types.py
	$(PYTHON) -m mypy.stubtest gpumem._core --allowlist .ci/stubtest-allowlist --mypy-config-file pyproject.toml

clean:
	rm -rf build dist *.egg-info gpumem/_core*.so
