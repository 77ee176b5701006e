# For work on gpumem itself; users need pip alone. PYTHON is one with '.[test,dev]' installed.
PYTHON ?= python3
CLANG_FORMAT ?= $(PYTHON) -c 'import clang_format; clang_format.clang_format()'
C_FILES = $(shell find csrc tests -name '*.[ch]' -o -name '*.cu')

.PHONY: build test bench notebooks format lint clean

build:  ## the extension module in place, compiling only what changed
	$(PYTHON) csrc/build.py

test: build
	$(PYTHON) -m pytest -n auto

bench: build
	$(PYTHON) -m gpumem bench copy

notebooks:  ## as they are committed, without outputs
	$(PYTHON) tools/notebooks.py

format:
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .
	$(CLANG_FORMAT) -i $(C_FILES)

lint:
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	$(CLANG_FORMAT) --dry-run -Werror $(C_FILES)

clean:
	rm -rf build dist *.egg-info gpumem/_core*.so
