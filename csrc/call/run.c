/* Runs calls: in stream order, on the device; arrays that need a transfer are for pipeline.c. */
#include "call/run.h"

#include "call/chunks.h"
#include "call/pipeline.h"
#include "memory/transfer.h"

/* ---- order among streams: see memory/device.h ----------------------------------------------- */

static gm_status order_before(const gm_run *run)
{
    gm_joined joined = {false, NULL};
    gm_status status = GM_OK;
    if (run->nonblocking) { /* the default stream may still have work on recycled memory */
        status = run->call.backend->stream_join(run->call.stream, NULL);
    }
    for (int i = 0; status == GM_OK && i < GM_OPERANDS; i++) {
        gm_device_memory *memory = run->at[i].memory;
        if (memory && !run->nonblocking) {
            status = gm_device_memory_settle(memory);
        }
        if (memory && status == GM_OK) {
            status = gm_device_memory_follow(memory, run->call.stream, &joined);
        }
    }
    return status;
}

static gm_status order_after(const gm_run *run)
{
    gm_joined joined = {false, NULL};
    gm_status status = GM_OK;
    for (int i = 0; status == GM_OK && i < GM_OPERANDS; i++) {
        gm_device_memory *memory = run->at[i].memory;
        status = memory
                     ? gm_device_memory_worked(memory, run->call.stream, run->nonblocking, &joined)
                     : GM_OK;
    }
    return status;
}

/* ---- running -------------------------------------------------------------------------------- */

gm_status gm_run_check(const gm_run *run)
{
    gm_status status = order_before(run);
    return status == GM_OK ? gm_check(&run->call) : status;
}

/* The status is that of what was launched. */
static gm_status end_launch(const gm_run *run, gm_status status)
{
    if (status == GM_OK) {
        return order_after(run);
    }
    /* One of several kernels may be running, and nothing remembers it. */
    return run->nonblocking ? gm_finish(run->call.backend, run->call.stream, status) : status;
}

static gm_status launch_in_order(const gm_run *run)
{
    return end_launch(run, gm_launch(run->variant, &run->call, &run->plan));
}

gm_status gm_run_work(const gm_run *run, gm_status (*work)(const gm_call *call))
{
    gm_status status = order_before(run);
    return status == GM_OK ? end_launch(run, work(&run->call)) : status;
}

gm_status gm_run_launch(const gm_run *run)
{
    gm_status status = order_before(run);
    return status == GM_OK ? launch_in_order(run) : status;
}

static bool needs_transfer(const gm_run *run)
{
    bool any = false;
    for (int i = 0; i < GM_OPERANDS; i++) {
        any |= run->at[i].needs_transfer;
    }
    return any;
}

gm_status gm_run_call(gm_run *run)
{
    if (needs_transfer(run)) {
        gm_chunks chunks;
        gm_chunks_choose(run, &chunks);
        if (!gm_chunks_suit_one_kernel(run, &chunks)) {
            return gm_pipeline_run(run, &chunks);
        }
    }
    gm_status status = gm_run_plan(run);
    if (status == GM_OK) {
        status = gm_run_check(run);
    }
    if (status == GM_OK) {
        status = launch_in_order(run);
    }
    bool on_host = !run->at[GM_OUT].memory;
    return on_host ? gm_finish(run->call.backend, run->call.stream, status) : status;
}
