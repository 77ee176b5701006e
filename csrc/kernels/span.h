/*
 * What of contiguous arrays is moved in aligned vectors of 16 bytes, wherever they begin. The ends
 * beside it, less than 300 bytes, are moved in narrower accesses.
 */
#ifndef GPUMEM_SPAN_H
#define GPUMEM_SPAN_H

#include "gpumem.h"

enum { SPAN_VECTOR = 16 /* bytes */ };

typedef struct gm_span {
    int64_t head;    /* bytes before it */
    int64_t vectors; /* of the result */
} gm_span;

/* From a line of the result on. An input that is not aligned there is loaded in whole vectors all
 * the same, and has all bytes of the first one and of one behind the last. */
static inline gm_span gm_aligned_span(const gm_call *call)
{
    const int64_t bytes = call->out.bytes,
                  first = (int64_t)((0 - (uintptr_t)call->out.data) % GM_LINE);
    gm_span span = {.head = first};
    int64_t behind = 0;
    for (int i = 0; i < call->family->input_count; i++) {
        const int64_t shift =
            (int64_t)(((uintptr_t)call->in[i].data + (uintptr_t)first) % SPAN_VECTOR);
        span.head = shift > first ? first + GM_LINE : span.head;
        behind = shift > 0 && SPAN_VECTOR - shift > behind ? SPAN_VECTOR - shift : behind;
    }
    span.head = span.head < bytes ? span.head : bytes;
    span.vectors = (bytes - span.head - behind) / SPAN_VECTOR;
    span.vectors = span.vectors > 0 ? span.vectors : 0;
    return span;
}

#endif
