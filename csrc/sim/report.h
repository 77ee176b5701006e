/* What a trace came to: the observers' counters, added up by source line. */
#ifndef GPUMEM_SIM_REPORT_H
#define GPUMEM_SIM_REPORT_H

#include "sim/samples.h"
#include "sim/trace.h"

enum { GM_MAX_COUNTERS = 32 };

/* Sites that share source line, space, kind, actor and width. */
typedef struct gm_report_line {
    const gm_site *site; /* the first of them */
    int64_t counts[GM_MAX_COUNTERS];
} gm_report_line;

typedef struct gm_report {
    const char *names[GM_MAX_COUNTERS]; /* of the counters, each once */
    int name_count;
    gm_report_line *lines; /* by file and line; loads before stores */
    int line_count;
    uintptr_t shared_begin; /* lowest address of __shared__ variables that the kernels used */
} gm_report;

gm_status gm_report_make(const gm_trace *trace, gm_report *report);
void gm_report_free(gm_report *report);

/* The first requests of a line, up to GM_SAMPLES of them, in the order in which they were made. The
 * caller frees the list; NULL when memory ran out. */
const gm_sample **gm_report_samples(const gm_trace *trace, const gm_report_line *line, int *count);

/* The sums of all kernels, with the shape of the one that has this name. */
gm_trace_kernel gm_report_total(const gm_trace *trace, const char *name);

#endif
