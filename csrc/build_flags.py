"""Flags of the compilers, for the kernels of gpumem and for those of users."""

from __future__ import annotations

C_FLAGS = "-std=c11 -O2 -DNDEBUG -Wall -Wextra -fPIC -fvisibility=hidden".split()
HOST_FLAGS = (
    "-x c++ -std=c++17 -Wall -Wextra -Wno-unknown-pragmas -Wno-psabi -fPIC -fvisibility=hidden"
    # Contraction to fused multiply-add would make results depend on the host's processor.
    " -fno-exceptions -fno-rtti -fno-threadsafe-statics -ffp-contract=off"
    # Parsing C++'s <math.h> takes three times as long as compiling a small kernel.
    " -nostdinc++"
).split()
# Kernels test the same condition once to load and once to store; GCC does not see that the stored
# value is initialised.
GCC_FLAGS = ["-Wno-maybe-uninitialized"]
# -O3 takes twice as long to compile; a kernel that benefits requests it (see options_of).
PLAIN_FLAGS = "-O2 -fno-math-errno -DGM_BUILD_PLAIN=1".split()
# The compiler must not split, merge or add accesses, nor turn a call into a jump: the return
# address identifies the access. Of the debug information only line numbers are used.
TRACED_FLAGS = (
    "-O1 -g1 -gdwarf-4 -DGM_BUILD_TRACED=1 -fsanitize=thread -fno-optimize-sibling-calls"
    " -fno-tree-vectorize -fno-tree-slp-vectorize"
).split()
TRACED_GCC_FLAGS = (
    "--param tsan-distinguish-volatile=1 -fno-store-merging -fno-gnu-unique"
).split()
TRACED_CLANG_FLAGS = (
    "-mllvm -tsan-instrument-read-before-write=1 -mllvm -tsan-distinguish-volatile=1"
    " -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset -gno-inline-line-tables"
).split()
# gpumem's own kernels do not report where functions begin and end.
OWN_TRACED_GCC_FLAGS = "--param tsan-instrument-func-entry-exit=0".split()
OWN_TRACED_CLANG_FLAGS = "-mllvm -tsan-instrument-func-entry-exit=0".split()
# Kernels of users may have any fault. Indices are checked, and every access that a GPU would make
# is reported: memset and memcpy are called, not expanded; what is allocated for nothing stays; null
# pointers are dereferenced; the compiler may not conclude from an array's length how often a loop
# runs. The ends of functions are reported, since local variables end with them, and no two
# variables share a place on the stack.
USER_TRACED_FLAGS = (
    "-fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset"
    " -fno-builtin-malloc -fno-builtin-free -fno-delete-null-pointer-checks -fno-strict-aliasing"
).split()
USER_TRACED_GCC_FLAGS = (
    "-fsanitize=bounds-strict,alignment -fno-aggressive-loop-optimizations -fstack-reuse=none"
    " -fno-tree-loop-distribute-patterns -fno-isolate-erroneous-paths-dereference"
    " -fno-allocation-dce"
).split()
USER_TRACED_CLANG_FLAGS = "-fsanitize=array-bounds -mllvm -no-stack-coloring".split()
LINK_FLAGS = "-shared -Wl,-z,now -Wl,--exclude-libs,ALL".split()
NVCC_FLAGS = (
    "-O3 -std=c++17 -DGM_BUILD_CUDA=1"
    " -Xcompiler -fPIC,-fvisibility=hidden,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics"
).split()


def user_traced_flags(clang: bool) -> list[str]:
    """What traced kernels of users are compiled with."""
    compilers = TRACED_CLANG_FLAGS if clang else TRACED_GCC_FLAGS
    users = USER_TRACED_CLANG_FLAGS if clang else USER_TRACED_GCC_FLAGS
    return [*TRACED_FLAGS, *compilers, *USER_TRACED_FLAGS, *users]
