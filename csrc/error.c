/* The error record of each host thread, checked arithmetic, and the poll hook. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "gpumem.h"
#include "per_thread.h"

typedef struct errors {
    gm_error last;
    gm_error unread; /* while hushed: what nobody reads, without a message */
    bool hushed;
} errors;

/* The last error of a thread that finds no memory for a record, whatever it was. */
static const gm_error no_record = {
    .status = GM_ERROR_MEMORY,
    .message = "out of memory for what a thread keeps for itself",
};

gm_poll_hook gm_poll;

static errors *make_errors(void)
{
    return gm_per_thread(GM_PART_ERRORS, sizeof(errors));
}

const gm_error *gm_last_error(void)
{
    const errors *mine = gm_per_thread_found(GM_PART_ERRORS);
    return !mine ? &no_record : mine->hushed ? &mine->unread : &mine->last;
}

gm_error *gm_error_record(void)
{
    errors *mine = make_errors();
    return !mine ? NULL : mine->hushed ? &mine->unread : &mine->last;
}

void gm_set_last_error(const gm_error *error)
{
    gm_error *record = gm_error_record();
    if (record) {
        *record = *error;
    }
}

bool gm_hush(bool hush)
{
    errors *mine = make_errors();
    bool before = mine && mine->hushed;
    if (mine) {
        mine->hushed = hush;
    }
    return before;
}

__attribute__((format(printf, 2, 0))) static gm_status fail(gm_error error, const char *format,
                                                            va_list arguments)
{
    errors *mine = make_errors();
    if (mine && !mine->hushed) {
        mine->last = error;
        vsnprintf(mine->last.message, sizeof mine->last.message, format, arguments);
    }
    return error.status;
}

static bool is_hushed(void)
{
    const errors *mine = gm_per_thread_found(GM_PART_ERRORS);
    return mine && mine->hushed;
}

gm_status gm_fail(gm_status status, const char *format, ...)
{
    if (is_hushed()) { /* before the record is made, which is large */
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
    if (is_hushed()) {
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
