/*
 * The rows of a family's ladder as identifiers. A file that names rows defines
 *     GM_FAMILY  transpose
 *     GM_LADDER  "transpose/ladder.def"
 * and includes this; afterwards transpose_row_tile is the index of row `tile` in the family's
 * variants, and transpose_row_shifted_b16 that of the instance "shifted:b16". A row that is renamed
 * no longer compiles where it is named.
 */
#ifndef GPUMEM_ROWS_H
#define GPUMEM_ROWS_H

#include "gpumem.h"

#define GM_PASTE2(a, b) a##_##b
#define GM_PASTE(a, b) GM_PASTE2(a, b)
#define GM_ROW_NAME(name) GM_PASTE(GM_FAMILY, GM_PASTE(row, name))

#define VARIANT(name, ...) GM_ROW_NAME(name),
#define HOST_VARIANT VARIANT
#define MULTI_VARIANT VARIANT
#define INSTANCE(row_name, name, ...) GM_ROW_NAME(GM_PASTE(row_name, name)),
#define PART(...)
#define HELPER(...)
#define SYMBOL(...)
enum {
#include GM_LADDER
    GM_ROW_COUNT
};
#undef VARIANT
#undef HOST_VARIANT
#undef MULTI_VARIANT
#undef INSTANCE
#undef PART
#undef HELPER
#undef SYMBOL

#endif
