/* copy: from two arrays to a conversion of their numbers. */
#include "copy/plan_convert.h"

#include "copy/plan_views.h"

enum { VECTOR = 16 /* bytes */ };

static const struct {
    char kind;
    int bytes;
} numbers[] = {
    [COPY_BOOL] = {'b', 1}, [COPY_I8] = {'i', 1},    [COPY_U8] = {'u', 1},  [COPY_I16] = {'i', 2},
    [COPY_U16] = {'u', 2},  [COPY_I32] = {'i', 4},   [COPY_U32] = {'u', 4}, [COPY_I64] = {'i', 8},
    [COPY_U64] = {'u', 8},  [COPY_F16] = {'f', 2},   [COPY_F32] = {'f', 4}, [COPY_F64] = {'f', 8},
    [COPY_C64] = {'c', 8},  [COPY_C128] = {'c', 16},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

/* A copy_number; NUMBERS if it is none. */
static int number_of(const gm_array *array)
{
    int i = 0;
    while (i < NUMBERS && (numbers[i].kind != array->kind || numbers[i].bytes != array->itemsize)) {
        i++;
    }
    return i;
}

bool copy_has_numbers(const gm_array *array)
{
    return number_of(array) < NUMBERS;
}

static int unit_of(const gm_array *array)
{
    return array->kind == 'c' ? (int)array->itemsize / 2 : (int)array->itemsize;
}

gm_status copy_plan_convert(const gm_call *call, copy_convert_args *args)
{
    const gm_array *in = &call->in[0], *out = &call->out;
    args->from = number_of(in);
    args->to = number_of(out);
    args->from_bytes = (int)in->itemsize;
    args->to_bytes = (int)out->itemsize;
    args->from_unit = unit_of(in);
    args->to_unit = unit_of(out);
    return copy_plan_elements(in, out, &args->sides);
}

bool copy_plan_flat(const copy_convert_args *convert, copy_flat_args *args)
{
    const copy_scatter_args *sides = &convert->sides;
    const int from = convert->from_bytes, to = convert->to_bytes;
    if (sides->ndim != 1 || sides->from[0] != from || sides->to[0] != to ||
        (uintptr_t)sides->out % VECTOR != 0) {
        return false;
    }
    const int vector = VECTOR / (from > to ? from : to), bytes = vector * from;
    const int shift = (int)((uintptr_t)sides->in % (uintptr_t)bytes);
    /* If vectors of the input are joined from aligned ones, all bytes of the first and of one
     * behind the last are the array's. */
    const int head = shift > 0 ? vector : 0;
    const int64_t inside = (sides->units - head) * from - (shift > 0 ? bytes - shift : 0);
    const int64_t vectors = inside > 0 ? inside / bytes : 0;
    const int tile = COPY_FLAT_THREADS * (bytes == VECTOR ? COPY_FLAT_LONG : COPY_FLAT_SHORT);
    const int64_t tiles = vectors / tile + (vectors % tile != 0);
    *args = (copy_flat_args){
        .in = sides->in + (ptrdiff_t)head * from - shift,
        .out = sides->out + (ptrdiff_t)head * to,
        .shift = shift,
        .vector = vector,
        .vectors = vectors,
        .tiles = (unsigned)tiles,
        .last = (int)(vectors - (tiles - 1) * tile),
        .head = head,
        .end = sides->units - head,
        .from = convert->from,
        .to = convert->to,
        .from_bytes = from,
        .to_bytes = to,
    };
    return true;
}
