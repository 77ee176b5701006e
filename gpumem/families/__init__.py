"""One file per family: its function, its docstring, what NumPy says, how other libraries do it.

A file named after a family, such as copy.py, holds all that Python knows about that family, and
ends with its object ``FAMILY``. Adding a family is one folder in csrc/kernels and one file here.
The other files serve all families:

protocol.py
    The classes `Family` and `Oracle`: what such a file has to say.
table.py
    The families and their variants, found in the table of the extension module.
oracle.py
    What a family should compute, asked by the family's name.
peers.py
    The same jobs done by other libraries, for benchmarks.
keywords.py, packing.py, slices.py
    For the functions: they check keywords, copy arrays into a layout that kernels take, and
    describe slices.
inputs.py, raw_bytes.py, equality.py
    For the oracles: they draw random inputs, move bytes unchanged, and compare results.
"""
