/* stream: the family. */
#include "stream/stream.h"

#include "backend/backend.h"

static gm_status takes_rows(const gm_variant *variant, const gm_call *call);
static gm_status launch_stream(const gm_variant *variant, const gm_call *call, gm_plan *plan);

#define GM_FAMILY stream
#define GM_LADDER "stream/ladder.def"
#include "family.h"

enum { WRITES };

static gm_status stream_result(gm_call *call)
{
    const gm_array *a = &call->in[0];
    const int64_t writes = call->parameters[WRITES].integer;
    gm_status status = gm_expect_dimensions(call, 0, 2, ": rows of words");
    if (status != GM_OK) {
        return status;
    }
    if (a->shape[0] > STREAM_MOST_ROWS) {
        return gm_fail(GM_ERROR_VALUE, "a has %lld rows, expected at most %d",
                       (long long)a->shape[0], STREAM_MOST_ROWS);
    }
    call->out.ndim = writes == 0 ? 0 : 2;
    call->out.shape[0] = writes;
    call->out.shape[1] = a->shape[1];
    return GM_OK;
}

/* Whole vectors: then all rows begin at multiples of 16 bytes, if the first does. */
static gm_status takes_rows(const gm_variant *variant, const gm_call *call)
{
    const int64_t length = call->in[0].shape[1];
    if (length % 4 == 0) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_VALUE,
                   "variant %s needs rows whose length is a multiple of 4, these have %lld words "
                   "(variant=\"auto\" takes any length)",
                   variant->name, (long long)length);
}

static const gm_variant *stream_choose(const gm_call *call)
{
    return gm_first_that_fits(call, GM_ROWS(stream_row_tiles, stream_row_vec4, stream_row_scalar));
}

static gm_status stream_plan(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    const gm_array *a = &call->in[0];
    const int writes = (int)call->parameters[WRITES].integer, reads = (int)a->shape[0];
    *(stream_args *)plan->args = (stream_args){
        .in = (const uint32_t *)a->data,
        .out = (uint32_t *)call->out.data,
        .length = a->shape[1],
        .reads = reads,
        .writes = writes,
    };
    plan->args_size = sizeof(stream_args);
    if (writes == 0 || call->out.size > 0) {
        /* Loads in flight are shared by the rows: with several, a thread takes less of each. */
        plan->grid.x = gm_grid_blocks(variant, call, a->shape[1] * (reads > 1 ? reads : 1), 0);
    }
    return GM_OK;
}

/* The one word begins at 0. */
static gm_status launch_stream(const gm_variant *variant, const gm_call *call, gm_plan *plan)
{
    gm_status status = GM_OK;
    if (call->parameters[WRITES].integer == 0) {
        status = call->backend->fill(call->out.data, 0, call->out.itemsize, call->stream);
    }
    return status == GM_OK ? call->backend->launch(variant, plan, call->stream) : status;
}

static const gm_operand inputs[] = {
    {.name = "a",
     .kinds = "iu",
     .itemsizes = 1 << 4,
     .dtypes = "int32, uint32",
     .suits = gm_is_packed},
};
static const gm_parameter parameters[] = {
    [WRITES] = {.name = "writes", .least = 0, .most = STREAM_MOST_ROWS},
};

const gm_family gm_family_stream = {
    .name = "stream",
    .doc = "reads and writes of memory, in any mix",
    .variants = variants,
    .count = variant_count,
    .inputs = inputs,
    .input_count = 1,
    .parameters = parameters,
    .parameter_count = 1,
    .result = stream_result,
    .choose = stream_choose,
    .plan = stream_plan,
};
