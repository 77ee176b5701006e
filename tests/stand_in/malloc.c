/*
 * Preloaded: memory that runs out for one module. Of the calls that come from between two
 * addresses, the one of a given number fails.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

static _Atomic(uintptr_t) begin, end;
static atomic_int left = -1; /* calls until the one that fails; below 0: none will */

void fail_after(uintptr_t from, uintptr_t to, int calls)
{
    begin = from;
    end = to;
    left = calls;
}

int calls_left(void)
{
    return left;
}

static int fails(void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    if (left < 0 || at < begin || at >= end || left-- != 0) {
        return 0;
    }
    errno = ENOMEM;
    return 1;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_memalign(alignment, bytes);
}

void *mmap(void *wish, size_t bytes, int protection, int flags, int file, off_t offset)
{
    static void *(*real)(void *, size_t, int, int, int, off_t);
    if (fails(CALLER)) {
        return (void *)-1;
    }
    if (!real) {
        *(void **)&real = dlsym(RTLD_NEXT, "mmap");
    }
    return real(wish, bytes, protection, flags, file, offset);
}
