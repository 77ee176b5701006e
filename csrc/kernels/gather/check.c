/* The check of indices, by a kernel before the one that follows them, or by that one itself. */
#include "gather/check.h"

#include "backend/backend.h"
#include "memory/host.h"

enum { MAX_SLOTS = 1024 };

gm_status gather_find_stride(const gm_array *index, int64_t *stride)
{
    *stride = index->contiguous || index->size <= 1 ? index->itemsize : 0;
    if (*stride == 0 && index->ndim == 1) {
        *stride = index->strides[0];
    } else if (*stride == 0) {
        return gm_fail(GM_ERROR_VALUE,
                       "index has %d dimension%s and is not C-contiguous on the device "
                       "(gpumem.copy makes it so)",
                       index->ndim, GM_PLURAL(index->ndim));
    }
    if (((uintptr_t)index->data | (uintptr_t)*stride) % (uintptr_t)index->itemsize != 0) {
        return gm_fail(GM_ERROR_VALUE, "index is not aligned to its elements of %lld bytes",
                       (long long)index->itemsize);
    }
    return GM_OK;
}

static gm_status read_back(const gm_call *call, void *to, const void *from, int64_t bytes)
{
    gm_status status = call->backend->copy(to, from, bytes, GM_TO_HOST, call->stream);
    return status == GM_OK ? call->backend->wait(call->stream) : status;
}

/*
 * The place of the first index that is out of range; the count if there is none. Blocks write to
 * the host's memory, and only what is wrong: after the one wait there is nothing to copy.
 */
static gm_status find_wrong(const gm_call *call, const gather_index_range_args *args,
                            const gm_plan *plan, int64_t *wrong)
{
    const unsigned blocks = plan->grid.x;
    for (unsigned i = 0; i < blocks; i++) {
        args->wrong[i] = args->count;
    }
    gm_status status = call->backend->launch(gather_helper_index_range, plan, call->stream);
    if (status == GM_OK) {
        status = call->backend->wait(call->stream);
    }
    *wrong = args->count;
    for (unsigned i = 0; status == GM_OK && i < blocks; i++) {
        *wrong = args->wrong[i] < *wrong ? args->wrong[i] : *wrong;
    }
    return status;
}

static gm_status out_of_range(const gm_call *call, const char *name,
                              const gather_index_range_args *args, int64_t at)
{
    union {
        int32_t narrow;
        int64_t wide;
    } value = {.wide = 0};
    gm_status status =
        read_back(call, &value, args->index + at * args->index_stride, args->index_size);
    if (status != GM_OK) {
        return status;
    }
    return gm_fail(GM_ERROR_INDEX,
                   "index %lld is out of bounds for axis 0 with size %lld (element %lld of %s)",
                   args->index_size != 4 ? (long long)value.wide
                   : args->is_unsigned   ? (long long)(uint32_t)value.narrow
                                         : (long long)value.narrow,
                   (long long)args->length, (long long)at, name);
}

gm_status gather_check_index(const gm_call *call, int input, int64_t least, int64_t length)
{
    const gm_array *index = &call->in[input];
    gm_plan plan = {.grid = {0, 1, 1}, .block = gather_helper_index_range->block};
    gather_index_range_args *args = (gather_index_range_args *)plan.args;
    int64_t wrong;
    void *slots = NULL;

    if (index->size == 0) {
        return GM_OK;
    }
    *args = (gather_index_range_args){
        .index = index->data,
        .count = index->size,
        .least = least,
        .length = length,
        .index_size = (int)index->itemsize,
        .is_unsigned = index->kind == 'u',
    };
    plan.args_size = sizeof *args;
    plan.grid.x = gm_grid_blocks(gather_helper_index_range, call, index->size, MAX_SLOTS);
    gm_status status = gather_find_stride(index, &args->index_stride);
    if (status == GM_OK) {
        status = gm_host_allocate(call->backend, GM_MAPPED, plan.grid.x * (int64_t)sizeof(int64_t),
                                  &slots);
    }
    if (status != GM_OK) {
        return status;
    }
    args->wrong = slots;
    status = find_wrong(call, args, &plan, &wrong);
    if (status == GM_OK && wrong < args->count) {
        status = out_of_range(call, call->family->inputs[input].name, args, wrong);
    }
    gm_host_release(slots);
    return status;
}

int gather_mode_of(const gm_call *call)
{
    return (int)call->parameters[0].integer;
}

gm_status gather_mode_suits(const gm_call *call, int to, int index)
{
    if (gather_mode_of(call) == GATHER_RAISE || call->in[to].size != 0 ||
        call->in[index].size == 0) {
        return GM_OK;
    }
    return gm_fail(GM_ERROR_INDEX,
                   "%s has no elements: an index can be neither wrapped nor clipped",
                   call->family->inputs[to].name);
}

bool gather_is_short(const gm_call *call, int input)
{
    return gather_mode_of(call) == GATHER_RAISE && !call->trace &&
           call->in[input].size <= GATHER_SHORT;
}

gm_status gather_check_before(const gm_call *call, int input, int64_t length, bool kernel_checks)
{
    if (gather_mode_of(call) != GATHER_RAISE || (kernel_checks && gather_is_short(call, input))) {
        return GM_OK;
    }
    return gather_check_index(call, input, -length, length);
}

/* Until the kernel has said what it found: soon, or else after the work before it. */
static gm_status await(const gm_call *call, const volatile int *verdict)
{
    enum { LOOKS = 1 << 14 }; /* some 20 us */
    for (int i = 0; i < LOOKS && *verdict == GATHER_UNKNOWN; i++) {
    }
    return *verdict == GATHER_UNKNOWN ? call->backend->wait(call->stream) : GM_OK;
}

gm_status gather_launch_checked(const gm_variant *variant, const gm_call *call, gm_plan *plan,
                                volatile int **verdict, int input, int64_t length)
{
    void *memory = NULL;
    gm_status status = gm_host_allocate(call->backend, GM_MAPPED, (int64_t)sizeof(int), &memory);
    *verdict = memory;
    while (status == GM_OK) {
        **verdict = GATHER_UNKNOWN;
        status = call->backend->launch(variant, plan, call->stream);
        status = status == GM_OK ? await(call, *verdict) : status;
        if (status != GM_OK || **verdict == GATHER_RIGHT) {
            break;
        }
        status = gather_check_index(call, input, -length, length);
    }
    gm_host_release(memory);
    return status;
}
