/* Splits a strided target into copies of rows. */
#include "memory/scatter.h"

#include <limits.h>

typedef struct dimension {
    int64_t extent;
    int64_t to, from; /* strides */
} dimension;

/* Removes the innermost dimensions that are one run of bytes with the elements; returns it. */
static int64_t find_run(const gm_places *to, int *ndim)
{
    int64_t run = to->itemsize;
    *ndim = to->ndim;
    while (*ndim > 0 && to->stride[*ndim - 1] == run) {
        --*ndim;
        run *= to->extent[*ndim];
    }
    return run;
}

/* The others, outermost first, merged where one goes on where the next ends. */
static int find_dimensions(const gm_places *to, int ndim, int64_t run, dimension *found)
{
    int count = 0;
    int64_t from = run;
    for (int d = 0; d < ndim; d++) {
        from *= to->extent[d];
    }
    for (int d = 0; d < ndim; d++) {
        from /= to->extent[d];
        dimension *outer = count > 0 ? &found[count - 1] : NULL;
        if (outer && outer->to == to->extent[d] * to->stride[d]) {
            *outer = (dimension){outer->extent * to->extent[d], to->stride[d], from};
        } else {
            found[count++] = (dimension){to->extent[d], to->stride[d], from};
        }
    }
    return count;
}

/* One copy where the driver takes the pitches, else a copy of each row. */
static gm_status copy_rows(const gm_backend *backend, char *to, const char *from,
                           const dimension *rows, int64_t run, gm_stream stream)
{
    if (rows->to <= INT_MAX && rows->from <= INT_MAX) {
        return backend->copy_rows(to, rows->to, from, rows->from, run, rows->extent, GM_WITHIN,
                                  stream);
    }
    gm_status status = GM_OK;
    for (int64_t i = 0; status == GM_OK && i < rows->extent; i++) {
        status = backend->copy(to + i * rows->to, from + i * rows->from, run, GM_WITHIN, stream);
    }
    return status;
}

gm_status gm_scatter(const gm_backend *backend, const gm_places *to, const void *from,
                     gm_stream stream)
{
    dimension outer[GM_MAX_DIMS], rows = {1, 1, 1};
    int ndim, longest = 0;
    int64_t run = find_run(to, &ndim);
    int count = find_dimensions(to, ndim, run, outer);
    if (count == 0) {
        return backend->copy(to->data, from, run, GM_WITHIN, stream);
    }
    for (int d = 1; d < count; d++) {
        longest = outer[d].extent > outer[longest].extent ? d : longest;
    }
    rows = outer[longest];
    outer[longest] = outer[--count];

    int64_t index[GM_MAX_DIMS] = {0};
    char *target = to->data;
    const char *source = from;
    for (;;) {
        gm_status status = copy_rows(backend, target, source, &rows, run, stream);
        int d = 0;
        for (; status == GM_OK && d < count; d++) { /* the next index of the others */
            target += outer[d].to;
            source += outer[d].from;
            if (++index[d] < outer[d].extent) {
                break;
            }
            target -= outer[d].extent * outer[d].to;
            source -= outer[d].extent * outer[d].from;
            index[d] = 0;
        }
        if (status != GM_OK || d == count) {
            return status;
        }
    }
}
