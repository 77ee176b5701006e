/* The error record of each host thread, checked arithmetic, and the poll hook. */
#include <stdarg.h>
#include <stdio.h>

#include "gpumem.h"

static _Thread_local gm_error last_error;

gm_poll_hook gm_poll;

gm_error *gm_last_error(void)
{
    return &last_error;
}

gm_status gm_fail(gm_status status, const char *format, ...)
{
    last_error = (gm_error){.status = status};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error.message, sizeof last_error.message, format, arguments);
    va_end(arguments);
    return status;
}

bool gm_multiply(int64_t a, int64_t b, int64_t *result)
{
    return !__builtin_mul_overflow(a, b, result);
}

bool gm_add(int64_t a, int64_t b, int64_t *result)
{
    return !__builtin_add_overflow(a, b, result);
}
