"""What can be wrong with a kernel: the rules by which findings go, in one table.

The simulator names the rule of a finding; csrc/rules.def lists its names.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["RULES", "Rule"]


class Rule(NamedTuple):
    """A rule that kernels break.

    Attributes
    ----------
    id : str
        Its name in reports and in code scanning.
    title : str
        What is wrong, in a few words.
    hint : str
        What usually mends it.
    level : {"error", "warning"}
        An error makes results wrong; a warning costs time.
    """

    id: str
    title: str
    hint: str
    level: Literal["error", "warning"] = "error"


_LISTED = (
    Rule(
        "launch",
        "launch that a device refuses",
        "stay within the limits of a block and of the device; shared memory that is declared and "
        "dynamic shared memory count together",
    ),
    Rule(
        "race-shared",
        "race on shared memory",
        "put __syncthreads() between the two accesses, where all threads of the block reach it; "
        "__syncwarp() does if only threads of one warp share the data; or use an atomic operation",
    ),
    Rule(
        "race-global",
        "race on global memory within a block",
        "let each element belong to one thread, put __syncthreads() between the two accesses, or "
        "use an atomic operation",
    ),
    Rule(
        "race-blocks",
        "race between blocks",
        "blocks run in any order: let one block do both, split the kernel in two, use atomic "
        "operations with a fence between, or a barrier of the grid in a cooperative launch",
    ),
    Rule(
        "race-copy",
        "access to what an asynchronous copy still uses",
        "wait for the copy in the thread that asked for it, and then put __syncthreads() before "
        "other threads access it; before a bulk copy to memory that threads have read, put "
        "__syncthreads() or, if they meet at __syncwarp(), a fence of the engine's proxy there",
    ),
    Rule(
        "copy-not-awaited",
        "asynchronous copy that is not waited for",
        "commit each copy, and wait for it before its values are used and before the thread ends",
    ),
    Rule(
        "uninitialised",
        "load of memory that nothing has written",
        "write it first, on all paths and for all threads; cudaMalloc and __shared__ set nothing",
    ),
    Rule(
        "misaligned",
        "misaligned access",
        "an access of 8 or 16 bytes needs an address that is a multiple of that: shift the start, "
        "or access the elements one by one",
    ),
    Rule(
        "out-of-bounds",
        "access out of bounds",
        "compare the index with the number of elements before the access, as in if (i < n), and "
        "check what the launch passes as n",
    ),
    Rule(
        "use-after-free",
        "access to freed memory",
        "free the memory, or drop the array, only after the last kernel that uses it",
    ),
    Rule(
        "null-pointer",
        "access through a null pointer",
        "pass an array, or test the pointer before the access",
    ),
    Rule(
        "constant-store",
        "store to constant memory",
        "declare it __device__, or write to an argument",
    ),
    Rule(
        "divergent-barrier",
        "barrier that not all threads reach",
        "move the barrier out of the branch or loop, and let no thread return before it",
    ),
    Rule(
        "divergent-warp",
        "warp operation without all of its lanes",
        "name in the mask the lanes that reach the operation, found before the branch with "
        "__ballot_sync; a shuffle may only read lanes of the mask",
    ),
    Rule(
        "mbarrier",
        "barrier object used wrongly",
        "let one thread initialise it for the number of arrivals, and put __syncthreads() behind",
    ),
    Rule(
        "endless",
        "wait that never ends",
        "what a thread waits for has to be done by one that does not wait itself, in a block that "
        "runs at the same time; a loop needs a step and an end that it reaches",
    ),
    Rule(
        "stack-overflow",
        "stack overflow",
        "replace deep recursion by a loop, and large local arrays by shared or global memory",
    ),
    Rule(
        "invalid-call",
        "call of a function that is not there",
        "set the function pointer before the call, in device code",
    ),
    Rule(
        "division",
        "integer division by zero",
        "test the divisor; a GPU gives an arbitrary result and no error",
    ),
    Rule(
        "trap",
        "trap",
        "the kernel stops itself, or runs into code that undefined behaviour made unreachable",
    ),
    Rule("assert", "assertion that fails", "the kernel's own assert says what should hold"),
    Rule(
        "misuse",
        "function used wrongly",
        "see what the CUDA C++ Programming Guide asks of the function's arguments",
    ),
    Rule(
        "sectors",
        "too many sectors per request",
        "let neighbouring threads access neighbouring addresses, or go through a tile in shared "
        "memory",
        "warning",
    ),
    Rule(
        "efficiency",
        "bytes moved that nothing asked for",
        "let the threads of a warp use whole sectors of 32 bytes: neighbouring threads, "
        "neighbouring addresses, and arrays of members instead of structures",
        "warning",
    ),
    Rule(
        "bank-conflicts",
        "bank conflicts in shared memory",
        "let the lanes of a warp use different banks: pad the rows of a tile by one word, or "
        "permute its columns",
        "warning",
    ),
    Rule("fault", "error in the kernel", "the message says what no kernel may do"),
)

RULES = {rule.id: rule for rule in _LISTED}
