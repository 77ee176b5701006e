/* Adds up the counters of all observers, whatever they are, by source line. */
#include "sim/report.h"

#include <stdlib.h>
#include <string.h>

#include "sim/observer.h"

static const char *file_of(const gm_site *site)
{
    return site->file ? site->file : "";
}

static bool same_line(const gm_site *a, const gm_site *b)
{
    return a->line == b->line && a->space == b->space && a->kind == b->kind &&
           a->actor == b->actor && a->width == b->width && strcmp(file_of(a), file_of(b)) == 0;
}

/* Index of a counter's name, which is added where it is new. */
static int name_index(gm_report *report, const char *name)
{
    int i = 0;
    while (i < report->name_count && strcmp(report->names[i], name) != 0) {
        i++;
    }
    if (i == report->name_count && i < GM_MAX_COUNTERS) {
        report->names[report->name_count++] = name;
    }
    return i;
}

/* Adds a site's counters to its line. Only names, without a site. */
static bool add_counters(gm_report *report, const gm_site *site, gm_report_line *line)
{
    for (int i = 0; i < GM_OBSERVERS; i++) {
        const char *counters = site ? gm_observer_counters(gm_observers[i], site) : NULL;
        for (int c = 0; c < GM_COUNTERS && gm_observers[i]->counters[c].name; c++) {
            const gm_counter *counter = &gm_observers[i]->counters[c];
            int index = name_index(report, counter->name);
            if (index == GM_MAX_COUNTERS) {
                return false;
            }
            if (counters) {
                line->counts[index] += *(const int64_t *)(counters + counter->offset);
            }
        }
    }
    return true;
}

static int compare_lines(const void *left, const void *right)
{
    const gm_report_line *first = left, *second = right;
    const gm_site *a = first->site, *b = second->site;
    int by_file = strcmp(file_of(a), file_of(b));
    if (by_file != 0) {
        return by_file;
    }
    if (a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    if (a->kind != b->kind) {
        return a->kind < b->kind ? -1 : 1;
    }
    return (a > b) - (a < b); /* sites lie in the order of their first accesses */
}

gm_status gm_report_make(const gm_trace *trace, gm_report *report)
{
    const gm_sites *sites = &trace->sites;
    *report = (gm_report){.shared_begin = UINTPTR_MAX};
    report->lines = calloc((size_t)sites->count + 1, sizeof *report->lines);
    if (!report->lines) {
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the source lines of a kernel");
    }
    if (!add_counters(report, NULL, NULL)) {
        return gm_fail(GM_ERROR_VALUE, "observers count more than %d things", GM_MAX_COUNTERS);
    }
    for (int i = 0; i < sites->count; i++) {
        const gm_site *site = &sites->list[i];
        if (site->width == 0) {
            continue; /* only prefetches */
        }
        int at = 0;
        while (at < report->line_count && !same_line(report->lines[at].site, site)) {
            at++;
        }
        if (at == report->line_count) {
            report->lines[report->line_count++].site = site;
        }
        add_counters(report, site, &report->lines[at]);
    }
    qsort(report->lines, (size_t)report->line_count, sizeof *report->lines, compare_lines);
    for (int i = 0; i < trace->kernel_count; i++) {
        uintptr_t begin = trace->kernels[i].shared_used.begin;
        report->shared_begin = begin < report->shared_begin ? begin : report->shared_begin;
    }
    return GM_OK;
}

void gm_report_free(gm_report *report)
{
    free(report->lines);
    report->lines = NULL;
}

static int compare_samples(const void *left, const void *right)
{
    const gm_sample *a = *(const gm_sample *const *)left, *b = *(const gm_sample *const *)right;
    return (a->number > b->number) - (a->number < b->number);
}

const gm_sample **gm_report_samples(const gm_trace *trace, const gm_report_line *line, int *count)
{
    const gm_sites *sites = &trace->sites;
    const gm_sample **found = malloc((size_t)sites->count * GM_SAMPLES * sizeof *found);
    *count = 0;
    for (int i = 0; found && i < sites->count; i++) {
        int kept = 0;
        const gm_sample *samples = gm_site_samples(&sites->list[i], &kept);
        for (int j = 0; j < kept && same_line(&sites->list[i], line->site); j++) {
            found[(*count)++] = &samples[j];
        }
    }
    if (found) {
        qsort(found, (size_t)*count, sizeof *found, compare_samples);
        *count = *count < GM_SAMPLES ? *count : GM_SAMPLES;
    }
    return found;
}

gm_trace_kernel gm_report_total(const gm_trace *trace, const char *name)
{
    gm_trace_kernel total = {.name = NULL};
    int64_t threads = 0, warps = 0, barriers = 0;
    for (int i = 0; i < trace->kernel_count; i++) {
        const gm_trace_kernel *kernel = &trace->kernels[i];
        if (!total.name || strcmp(total.name, name) != 0 || strcmp(kernel->name, name) == 0) {
            total = *kernel;
        }
        threads += kernel->threads;
        warps += kernel->warps;
        barriers += kernel->barriers;
    }
    total.threads = threads;
    total.warps = warps;
    total.barriers = barriers;
    return total;
}
