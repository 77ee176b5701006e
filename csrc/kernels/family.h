/*
 * Turns a family's ladder into its table of variants. A family's .c file defines GM_FAMILY and
 * GM_LADDER as for rows.h and includes this once; afterwards there is an array `variants`, whose
 * indices are the identifiers of rows.h, and its `variant_count`.
 *
 * A row of the ladder is VARIANT(name, .field = value, ...) for a kernel in name.cu, or
 * HOST_VARIANT(...) for one in name.c that has no kernel of its own but a launch hook.
 * MULTI_VARIANT(name, .pick = ..., ...) is a row for several kernels of name.cu that differ by
 * element size or geometry; an INSTANCE(name, which, ...) for each follows it, whose kernel is
 * family_name_which and whose name is "name:which". The row's hook `pick` finds the instance for a
 * call.
 * PART(name, which, ...) is a further kernel of name.cu, family_name_which, which a row's launch
 * hook takes for some calls: afterwards there is a row `part_name_which`. HELPER(...) is a kernel
 * in name.cu that serves the family and is no variant of it: afterwards there is a row
 * `helper_name`. SYMBOL(name, bytes) is a variable of the device that a kernel file defines as
 * family_name: afterwards there is a gm_symbol `symbol_name`.
 */
#include "backend/kernel_list.h"
#include "backend/symbol.h"
#include "gpumem.h"
#include "rows.h"
#include "sim/lane.h"

#define GM_STRING2(a) #a
#define GM_STRING(a) GM_STRING2(a)
#define GM_KERNEL_OF(prefix, name) GM_PASTE(prefix, GM_PASTE(GM_FAMILY, name))

#define GM_SYMBOL_OF(name) GM_PASTE(GM_PASTE(GM_FAMILY, name), symbol)

#ifdef GM_WITH_CUDA
#define GM_CUDA_KERNEL(name) .cuda_kernel = (const void *)GM_PASTE(GM_FAMILY, name),
#define GM_CUDA_SYMBOL(name) .cuda = GM_SYMBOL_OF(name),
#define SYMBOL(name, bytes)                                                                        \
    extern void *GM_SYMBOL_OF(name)(void);                                                         \
    extern void *GM_PASTE(gm_plain, GM_SYMBOL_OF(name))(void);                                     \
    extern void *GM_PASTE(gm_traced, GM_SYMBOL_OF(name))(void);
#define VARIANT(name, ...)                                                                         \
    extern void GM_PASTE(GM_FAMILY, name)(void);                                                   \
    extern void GM_KERNEL_OF(gm_plain, name)(const void *, const gm_lane_state *);                 \
    extern void GM_KERNEL_OF(gm_traced, name)(const void *, const gm_lane_state *);
#else
#define GM_CUDA_KERNEL(name)
#define GM_CUDA_SYMBOL(name)
#define SYMBOL(name, bytes)                                                                        \
    extern void *GM_PASTE(gm_plain, GM_SYMBOL_OF(name))(void);                                     \
    extern void *GM_PASTE(gm_traced, GM_SYMBOL_OF(name))(void);
#define VARIANT(name, ...)                                                                         \
    extern void GM_KERNEL_OF(gm_plain, name)(const void *, const gm_lane_state *);                 \
    extern void GM_KERNEL_OF(gm_traced, name)(const void *, const gm_lane_state *);
#endif
#define HOST_VARIANT(name, ...)
#define MULTI_VARIANT(name, ...)
#define INSTANCE(row_name, name, ...) VARIANT(GM_PASTE(row_name, name), )
#define PART INSTANCE
#define HELPER VARIANT
#include GM_LADDER
#undef VARIANT
#undef HOST_VARIANT
#undef MULTI_VARIANT
#undef INSTANCE
#undef PART
#undef HELPER
#undef SYMBOL

/* The names of a row, whose file ends in `suffix_`; of one with a kernel also that. */
#define GM_NAMES(name_, symbol_, file_, suffix_)                                                   \
    .name = name_, .symbol = GM_STRING(GM_PASTE(GM_FAMILY, symbol_)),                              \
    .source = GM_STRING(GM_FAMILY) "/" #file_ suffix_
#define GM_KERNELS(symbol_)                                                                        \
    GM_CUDA_KERNEL(symbol_).plain = GM_KERNEL_OF(gm_plain, symbol_),                               \
    .traced = GM_KERNEL_OF(gm_traced, symbol_)
#define GM_ROW(name_, ...)                                                                         \
    {                                                                                              \
        GM_NAMES(#name_, name_, name_, ".cu"), GM_KERNELS(name_), __VA_ARGS__                      \
    }

#define VARIANT(name_, ...) GM_ROW(name_, __VA_ARGS__),
#define PART(...)
#define HELPER(...)
#define SYMBOL(...)
#define HOST_VARIANT(name_, ...) {GM_NAMES(#name_, name_, name_, ".c"), __VA_ARGS__},
#define MULTI_VARIANT(name_, ...) {GM_NAMES(#name_, name_, name_, ".cu"), __VA_ARGS__},
#define INSTANCE(row_, name_, ...)                                                                 \
    {GM_NAMES(#row_ ":" #name_, GM_PASTE(row_, name_), row_, ".cu"),                               \
     GM_KERNELS(GM_PASTE(row_, name_)), .row = &variants[GM_ROW_NAME(row_)], __VA_ARGS__},

static const gm_variant variants[GM_ROW_COUNT]; /* whose instances name their rows */
static const gm_variant variants[GM_ROW_COUNT] = {
#include GM_LADDER
};
enum { variant_count = GM_ROW_COUNT };

#undef VARIANT
#undef HOST_VARIANT
#undef MULTI_VARIANT
#undef INSTANCE
#undef PART
#undef HELPER
#undef SYMBOL

#define VARIANT(...)
#define HOST_VARIANT(...)
#define MULTI_VARIANT(...)
#define INSTANCE(...)
#define PART(row_, name_, ...)                                                                     \
    static const gm_variant GM_PASTE(part, GM_PASTE(row_, name_)) = {                              \
        GM_NAMES(#row_ ":" #name_, GM_PASTE(row_, name_), row_, ".cu"),                            \
        GM_KERNELS(GM_PASTE(row_, name_)), __VA_ARGS__};
#define HELPER(name_, ...) static const gm_variant helper_##name_ = GM_ROW(name_, __VA_ARGS__);
#define SYMBOL(name_, bytes_)                                                                      \
    GM_SERIALIZER(serializer_##name_);                                                             \
    static const gm_symbol symbol_##name_ = {                                                      \
        .name = GM_STRING(GM_PASTE(GM_FAMILY, name_)),                                             \
        .bytes = bytes_,                                                                           \
        GM_CUDA_SYMBOL(name_).plain = GM_PASTE(gm_plain, GM_SYMBOL_OF(name_)),                     \
        .traced = GM_PASTE(gm_traced, GM_SYMBOL_OF(name_)),                                        \
        .serializer = &serializer_##name_,                                                         \
    };
#include GM_LADDER
#undef VARIANT
#undef HOST_VARIANT
#undef MULTI_VARIANT
#undef INSTANCE
#undef PART
#undef HELPER
#undef SYMBOL

#ifdef GM_WITH_CUDA
#define VARIANT(name_, ...) (const void *)GM_PASTE(GM_FAMILY, name_),
#define HOST_VARIANT(...)
#define MULTI_VARIANT(...)
#define INSTANCE(row_, name_, ...) VARIANT(GM_PASTE(row_, name_), )
#define PART INSTANCE
#define HELPER VARIANT
#define SYMBOL(...)
static const void *const cuda_kernels[] = {
#include GM_LADDER
    NULL};
#undef VARIANT
#undef HOST_VARIANT
#undef MULTI_VARIANT
#undef INSTANCE
#undef PART
#undef HELPER
#undef SYMBOL

static gm_kernel_list cuda_kernel_list = {cuda_kernels, NULL};

static __attribute__((constructor)) void enlist(void)
{
    gm_enlist_kernels(&cuda_kernel_list);
}
#endif
