"""What can be wrong with a kernel: the rules by which findings go, in one table."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

__all__ = ["RULES", "Rule", "rule_of"]


class Rule(NamedTuple):
    """A rule that kernels break.

    Attributes
    ----------
    id : str
        Its name in reports and in code scanning.
    title : str
        What it means that a finding has this rule, in a few words.
    hint : str
        What usually mends it.
    says : str
        A regular expression that the simulator's message contains.
    level : {"error", "warning"}
        A warning costs time; an error makes results wrong.
    """

    id: str
    title: str
    hint: str
    says: str = "(?!)"
    level: Literal["error", "warning"] = "error"


# The first that matches a message is its rule.
_LISTED = (
    Rule(
        "launch",
        "launch that a device refuses",
        "stay within the limits of a block and of the device; shared memory that is declared and "
        "dynamic shared memory count together",
        "cannot be launched|a cooperative launch of|the launch is not cooperative",
    ),
    Rule(
        "race-blocks",
        "race between blocks",
        "blocks run in any order: let one block do both, split the kernel in two, use atomic "
        "operations with a fence between, or a barrier of the grid in a cooperative launch",
        "^a race: block ",
    ),
    Rule(
        "race-threads",
        "race between threads of a block",
        "put __syncthreads() between the two accesses, where all threads of the block reach it; "
        "__syncwarp() does if both threads are in one warp; or use an atomic operation",
        "^a race: thread .* with no barrier between$",
    ),
    Rule(
        "endless",
        "wait that never ends",
        "what the threads wait for has to be done by a thread that does not wait itself, in a "
        "block that runs at the same time; a loop needs a step and a reachable end",
        "never ends|never completes",
    ),
    Rule(
        "mbarrier",
        "mbarrier used wrongly",
        "let one thread initialise it for the number of arrivals, and put __syncthreads() behind",
        "mbarrier that (nothing|thread)|an mbarrier is|arrivals at an mbarrier|barrier_arrive_tx",
    ),
    Rule(
        "race-copy",
        "access to what an asynchronous copy still uses",
        "wait for the copy (cp.async wait, pipeline or barrier) in the thread that asked for it, "
        "and then put __syncthreads() before other threads access it",
        "copy of thread",
    ),
    Rule(
        "copy-not-awaited",
        "asynchronous copy that nothing waits for",
        "commit each copy, and wait for it before the thread or the block ends",
        "asynchronous copy that (no wait covers|is never committed)|ends without waiting"
        "|no thread waits for",
    ),
    Rule(
        "copy-invalid",
        "asynchronous copy that the hardware does not make",
        "copy from global to shared memory, in 4, 8 or 16 bytes (bulk copies: multiples of 16), "
        "with addresses that are multiples of the size",
        "(asynchronous|bulk|tensor) copy (of a size|that fills|whose|that is not)|^a copy to",
    ),
    Rule(
        "texture",
        "texture or surface used wrongly",
        "give the fetch the type of the texture's elements, and a surface x in bytes",
        "texture|surface",
    ),
    Rule(
        "use-after-free",
        "access to freed memory",
        "keep the array until the kernel has run",
        "freed memory",
    ),
    Rule(
        "null-pointer",
        "access through a null pointer",
        "pass an array, or test the pointer before the access",
        "a null pointer",
    ),
    Rule(
        "out-of-bounds",
        "access out of bounds",
        "compare the index with the number of elements before the access, as in if (i < n), and "
        "check what the launch passes as n",
        "out of bounds|outside every allocation|wrote just|where there is no memory"
        "|invalid or misaligned address|another block of the cluster",
    ),
    Rule(
        "misaligned",
        "misaligned access",
        "an access of 8 or 16 bytes needs an address that is a multiple of that: shift the start, "
        "or access the elements one by one",
        "misaligned",
    ),
    Rule(
        "uninitialised",
        "load of memory that nothing has written",
        "write it first, on all paths and for all threads; cudaMalloc and __shared__ set nothing",
        "uninitialised",
    ),
    Rule(
        "constant-store",
        "store to constant memory",
        "declare it __device__, or write to an argument",
        "store to constant memory",
    ),
    Rule(
        "barrier-divergence",
        "barrier that not all threads reach",
        "move the barrier out of the branch or loop, and let no thread return before it",
        "a barrier that not all|a barrier of the grid that not all",
    ),
    Rule(
        "warp-divergence",
        "warp operation without all of its lanes",
        "name in the mask the lanes that reach the operation, computed before the branch with "
        "__ballot_sync; a shuffle may only read lanes of the mask",
        "warp operation|a shuffle |width of a shuffle|tiled_partition|made by all threads",
    ),
    Rule(
        "stack-overflow",
        "stack overflow",
        "replace deep recursion by a loop, and large local arrays by shared or global memory",
        "stack overflow",
    ),
    Rule(
        "invalid-call",
        "call of a function that is not there",
        "set the function pointer before the call, in device code",
        "null function pointer|a call of a function at",
    ),
    Rule(
        "division",
        "integer division by zero",
        "test the divisor; a GPU gives an arbitrary result without any error",
        "division by zero",
    ),
    Rule(
        "assertion", "assertion that fails", "the kernel's own assert says so", "assertion failed"
    ),
    Rule(
        "trap",
        "trap",
        "the kernel stops itself, or runs into code that undefined behaviour made unreachable",
        r"__trap\(\)|__brkpt\(\)|^a trap|call of abort",
    ),
    Rule(
        "sectors",
        "too many sectors per request",
        "let neighbouring threads access neighbouring addresses, or go through a tile in shared "
        "memory",
        level="warning",
    ),
    Rule(
        "efficiency",
        "bytes moved that nothing asked for",
        "let the threads of a warp use whole sectors of 32 bytes: neighbouring threads, "
        "neighbouring addresses, and arrays of members instead of structures",
        level="warning",
    ),
    Rule(
        "bank-conflicts",
        "bank conflicts in shared memory",
        "let the lanes of a warp use different banks: pad the rows of a tile by one word, or "
        "permute its columns",
        level="warning",
    ),
    Rule("other", "error in the kernel", "the message says what no kernel may do", ""),
)

RULES = {rule.id: rule for rule in _LISTED}


def rule_of(message: str) -> Rule:
    """Return the rule that a message of the simulator is about."""
    return next(rule for rule in _LISTED if re.search(rule.says, message))
