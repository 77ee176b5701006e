/* matmul: the launch of a kernel whose blocks share the depth, and of the one that adds them. */
#include "backend/backend.h"
#include "matmul/launches.h"
#include "sgemm/add_shares.h"

gm_status matmul_launch_shares(const gm_variant *variant, const gm_variant *adder,
                               const gm_call *call, gm_plan *plan)
{
    matmul_args *args = (matmul_args *)plan->args;
    const int shares = (int)plan->grid.y;
    const int log_sharers = add_shares_log_sharers(shares);
    const int64_t count = call->out.size, partial = matmul_divide_up(count, 4) * 4;
    gm_plan adding = {.grid = {0, 1, 1}, .block = adder->block, .trace = call->trace};
    matmul_add_shares_args *add = (matmul_add_shares_args *)adding.args;
    void *memory = NULL;
    int64_t bytes;
    if (shares == 1 || args->cluster > 0) {
        return call->backend->launch(variant, plan, call->stream);
    }
    if (!gm_multiply(partial, shares * (int64_t)sizeof(float), &bytes)) {
        return gm_fail(GM_ERROR_VALUE, "the sums of %d blocks are too large", shares);
    }
    gm_status status = gm_scratch(call, bytes, &memory);
    if (status != GM_OK) {
        return status;
    }
    *add = (matmul_add_shares_args){
        .sums = memory,
        .out = args->out,
        .count = count,
        .partial = partial,
        .shares = shares,
        .log_sharers = log_sharers,
        .vectors = count % 4 == 0 && (uintptr_t)args->out % 16 == 0,
    };
    adding.args_size = sizeof *add;
    const int64_t units = add->vectors ? count / 4 : count;
    adding.grid.x = (unsigned)matmul_divide_up(units, ADD_SHARES_THREADS >> log_sharers);
    args->out = memory;
    args->partial = partial;
    args->out_vectors = (args->turned ? args->a.lines : args->b.lines) % 4 == 0;
    status = call->backend->launch(variant, plan, call->stream);
    if (status == GM_OK) {
        status = call->backend->launch(adder, &adding, call->stream);
    }
    gm_scratch_release(call, memory);
    return status;
}
