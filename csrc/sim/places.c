/* Where findings are: coordinates of threads, and findings with their places. */
#include "sim/observer.h"

gm_dim gm_trace_thread(const gm_trace *trace, int number)
{
    unsigned n = (unsigned)number, x = trace->block.x, y = trace->block.y;
    return (gm_dim){n % x, n / x % y, n / x / y};
}

gm_dim gm_trace_block_index(const gm_trace *trace, int64_t number)
{
    int64_t x = trace->grid.x, y = trace->grid.y;
    return (gm_dim){(unsigned)(number % x), (unsigned)(number / x % y), (unsigned)(number / x / y)};
}

gm_status gm_trace_keep(gm_trace *trace, gm_status status)
{
    gm_error *error = gm_error_record();
    if (status != GM_ERROR_SIMULATION || !trace->findings || !error ||
        !gm_rule_goes_on(error->rule)) {
        return status;
    }
    bool placed = trace->fault.thread >= 0;
    error->file = placed ? trace->fault.file : NULL;
    error->line = placed ? trace->fault.line : 0;
    error->located = true;
    error->block = trace->fault.elsewhere ? trace->fault.block : trace->block_index;
    error->thread = gm_trace_thread(trace, placed ? trace->fault.thread : trace->thread);
    gm_trace_place(trace, NULL, 0, -1);
    return gm_findings_add(trace->findings, error);
}
