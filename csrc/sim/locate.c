/* Where a fault is: kernel, line, block and thread, for the message and the error record. */
#define _GNU_SOURCE
#include "sim/locate.h"

#include <stdio.h>
#include <string.h>

#include "sim/trace.h"

gm_status gm_locate_here(gm_block *block, const char *file, int line)
{
    gm_error *error = gm_error_record();
    if (!error || error->status != GM_ERROR_SIMULATION) {
        return gm_last_error()->status;
    }
    const char *kernel = block->grid->kernel.name;
    const gm_error found = *error;
    gm_index b = block->lane->block_index, t = block->lane->thread_index;
    char place[256] = "";
    if (file) {
        snprintf(place, sizeof place, " at %s:%d", file, line);
    }
    char where[512];
    int bare = snprintf(where, sizeof where,
                        "kernel %.100s%s, block (%u, %u, %u), thread (%u, %u, %u): ", kernel, place,
                        b.x, b.y, b.z, t.x, t.y, t.z);
    gm_find(found.rule, "%s%s", where, found.message);
    error->bare = bare;
    error->other_file = found.other_file;
    error->other_line = found.other_line;
    error->kernel = kernel;
    error->file = file;
    error->line = line;
    error->located = true;
    error->block = (gm_dim){b.x, b.y, b.z};
    error->thread = (gm_dim){t.x, t.y, t.z};
    return GM_ERROR_SIMULATION;
}

gm_status gm_locate_thread(gm_block *block, int thread, const char *file, int line)
{
    block->lane->thread_index = block->strands[thread].index;
    return gm_locate_here(block, file, line);
}

gm_status gm_locate_traced(gm_block *block, gm_status status)
{
    gm_trace *trace = block->trace;
    status = gm_trace_keep(trace, status);
    if (status == GM_ERROR_SIMULATION && trace->fault.elsewhere) {
        const gm_dim at = trace->fault.block;
        block->lane->block_index = (gm_index){at.x, at.y, at.z};
    }
    if (status == GM_ERROR_SIMULATION && trace->fault.thread >= 0) {
        return gm_locate_thread(block, trace->fault.thread, trace->fault.file, trace->fault.line);
    }
    return status;
}

/* The last line before this code that reports an access; NULL: none is near. */
const gm_site_record *gm_locate_line(const gm_block *block, uintptr_t code)
{
    enum { NEAR = 512 };
    const gm_module *module = block->grid->module;
    const gm_site_record *nearest = NULL;
    for (const gm_site_record *r = module->sites; block->trace && r < module->sites_end; r++) {
        bool near = code - (uintptr_t)r->address < NEAR;
        if (near && (!nearest || (uintptr_t)r->address > (uintptr_t)nearest->address)) {
            nearest = r;
        }
    }
    return nearest;
}

/* A fault in a function that the kernel called, such as one of the simulator's: the kernel is the
 * first to which a return address on the stack belongs. */
static const gm_site_record *line_of_fault(const gm_block *block, const gm_fault *fault)
{
    enum { DEPTH = 4096 }; /* bytes of the stack to search */
    const gm_fiber *fiber = block->running_fiber;
    uintptr_t begin = (uintptr_t)fiber->stack, end = begin + fiber->stack_bytes;
    uintptr_t sp = fault->sp < begin ? begin : (fault->sp + 7) & ~(uintptr_t)7;
    const gm_site_record *at = gm_locate_line(block, fault->caller ? fault->caller : fault->pc);
    for (end = sp + DEPTH < end ? sp + DEPTH : end; !at && sp + 8 <= end; sp += 8) {
        uintptr_t code = *(const uintptr_t *)sp;
        if (gm_region_holds(block->grid->module->image, code)) {
            at = gm_locate_line(block, code);
        }
    }
    return at;
}

gm_status gm_locate_spin(gm_block *block, int thread, const void *code)
{
    const gm_strand *strand = &block->strands[thread];
    const gm_module *module = block->grid->module;
    for (const gm_site_record *r = module->sites; code && !strand->file && r < module->sites_end;
         r++) {
        if (r->address == code) {
            return gm_locate_thread(block, thread, r->file, r->line);
        }
    }
    return gm_locate_thread(block, thread, strand->file, strand->line);
}

gm_status gm_locate_failure(gm_block *block)
{
    const gm_fault fault = block->fault;
    if (fault.signal) {
        block->fault.signal = 0;
        gm_status earlier = block->trace ? gm_trace_uses_all(block->trace) : GM_OK;
        earlier = earlier == GM_OK && block->trace ? gm_postponed_tell(block->trace) : earlier;
        if (earlier != GM_OK) {
            return gm_locate_traced(block, earlier);
        }
        gm_faults_describe(block, &fault);
        const gm_site_record *at = line_of_fault(block, &fault);
        gm_locate_here(block, at ? at->file : NULL, at ? at->line : 0);
    }
    return gm_last_error()->status;
}
