/* Host threads that copy memory together: one thread is slower than the bus. */
#ifndef GPUMEM_WORKERS_H
#define GPUMEM_WORKERS_H

#include <stdint.h>

/* Copies rows of `width` bytes with a pitch on either side; returns when all are copied. */
void gm_copy_rows_together(char *to, int64_t to_pitch, const char *from, int64_t from_pitch,
                           int64_t width, int64_t rows);

#endif
