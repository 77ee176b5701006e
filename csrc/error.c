/* The error record of each host thread, checked arithmetic, and the poll hook. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "gpumem.h"

static _Thread_local gm_error last_error;
/* While hushed: what nobody reads, without a message. */
static _Thread_local gm_error unread;
static _Thread_local bool hushed;

gm_poll_hook gm_poll;

gm_error *gm_last_error(void)
{
    return hushed ? &unread : &last_error;
}

bool gm_hush(bool hush)
{
    bool before = hushed;
    hushed = hush;
    return before;
}

__attribute__((format(printf, 2, 0))) static gm_status fail(gm_error error, const char *format,
                                                            va_list arguments)
{
    last_error = error;
    vsnprintf(last_error.message, sizeof last_error.message, format, arguments);
    return error.status;
}

gm_status gm_fail(gm_status status, const char *format, ...)
{
    if (hushed) { /* before the record is made, which is large */
        return status;
    }
    va_list arguments;
    va_start(arguments, format);
    fail((gm_error){.status = status}, format, arguments);
    va_end(arguments);
    return status;
}

gm_status gm_find(gm_rule rule, const char *format, ...)
{
    if (hushed) {
        return GM_ERROR_SIMULATION;
    }
    va_list arguments;
    va_start(arguments, format);
    fail((gm_error){.status = GM_ERROR_SIMULATION, .rule = rule}, format, arguments);
    va_end(arguments);
    return GM_ERROR_SIMULATION;
}

const char *gm_rule_name(gm_rule rule)
{
    static const char *const names[] = {
        [GM_NO_RULE] = "fault",
#define RULE(constant, name, goes_on) [GM_RULE_##constant] = name,
#include "rules.def"
#undef RULE
    };
    return names[rule];
}

int64_t gm_coarse_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

gm_status gm_poll_after(int64_t *last, int64_t now)
{
    enum { PERIOD = 20 * 1000 * 1000 };
    if (!gm_poll || now - *last <= PERIOD) {
        return GM_OK;
    }
    *last = now;
    return gm_poll() ? gm_fail(GM_ERROR_INTERRUPTED, "interrupted") : GM_OK;
}
