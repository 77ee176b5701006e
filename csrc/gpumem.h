/*
 * The vocabulary of gpumem: status and error, arrays, variants, families, plans.
 *
 * No Python and no CUDA in here: a family describes its arguments with these words, a
 * backend runs plans made of them, and the Python binding turns objects into them.
 */
#ifndef GPUMEM_H
#define GPUMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rules.h"
#include "tensor_map.h"

/* ---- status and error --------------------------------------------------------------- */

typedef enum gm_status {
    GM_OK = 0,
    GM_ERROR_TYPE,        /* TypeError */
    GM_ERROR_VALUE,       /* ValueError */
    GM_ERROR_INDEX,       /* IndexError */
    GM_ERROR_MEMORY,      /* MemoryError; on CUDA also a CudaError */
    GM_ERROR_CUDA,        /* gpumem.CudaError */
    GM_ERROR_SIMULATION,  /* gpumem.SimulationError: the kernel did something illegal */
    GM_ERROR_UNAVAILABLE, /* gpumem.UnavailableError: this backend or variant is not here */
    GM_ERROR_INTERRUPTED, /* the poll hook asked to stop: its exception is already set */
} gm_status;

typedef struct gm_dim {
    unsigned x, y, z;
} gm_dim;

/* What went wrong last on this host thread; filled by whoever returned the status. */
typedef struct gm_error {
    gm_status status;
    int code;           /* the CUDA runtime's number, 0 elsewhere */
    bool sticky;        /* the CUDA context is lost: every further call will fail */
    char name[64];      /* "cudaErrorMemoryAllocation" */
    char call[128];     /* the failing expression */
    char message[1024]; /* a whole sentence for the user */
    /* GM_ERROR_SIMULATION: where the kernel was; NULL and 0 where that is not known. */
    const char *kernel, *file;
    int line;
    bool located; /* block and thread are known */
    gm_dim block, thread;
    gm_rule rule;
    const char *other_file; /* of a race: the other side's line; NULL: there is none */
    int other_line;
    int bare; /* where in the message it begins to say what happened, behind the place */
} gm_error;

gm_status gm_fail(gm_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same of a GM_ERROR_SIMULATION. */
gm_status gm_find(gm_rule rule, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Of a thread that finds no memory for its record: that this is so, whatever the status was. */
const gm_error *gm_last_error(void);
/* The record, to add to; NULL if there is no memory for one. */
gm_error *gm_error_record(void);
void gm_set_last_error(const gm_error *error);
/* Hushed, this thread's failures write no message and leave the last error as it is: for questions
 * whose answer may be no. Returns what was before. */
bool gm_hush(bool hush);
/* "race-shared" */
const char *gm_rule_name(gm_rule rule);

/* False when the product or the sum does not fit; *result is then unspecified. */
static inline bool gm_multiply(int64_t a, int64_t b, int64_t *result)
{
    return !__builtin_mul_overflow(a, b, result);
}

static inline bool gm_add(int64_t a, int64_t b, int64_t *result)
{
    return !__builtin_add_overflow(a, b, result);
}

/* Long runs call the hook every few milliseconds; true means: stop with GM_ERROR_INTERRUPTED. */
typedef bool (*gm_poll_hook)(void);
extern gm_poll_hook gm_poll;

/* The system's own tick, a few milliseconds, in nanoseconds; a few nanoseconds to read. */
int64_t gm_coarse_now(void);
/* Calls the hook if there is one and *last is long before now, which it then becomes. */
gm_status gm_poll_after(int64_t *last, int64_t now);

/* ---- arrays and calls --------------------------------------------------------------- */

enum {
    GM_MAX_DIMS = 64,       /* NumPy's own limit */
    GM_MAX_OPERANDS = 4,    /* inputs of one call */
    GM_MAX_PARAMETERS = 12, /* keyword parameters of one family */
    GM_MAX_ARGS = 1024,     /* bytes of a family's argument struct */
    GM_WARP = 32,
    GM_POWERS = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8 | 1 << 16, /* itemsizes of whole units */
    GM_SECTOR = 32,                                          /* bytes */
    GM_LINE = 128,                                           /* bytes */
};

/* Where the memory of an array is, and who can reach it. */
typedef enum gm_memory_kind {
    GM_PAGEABLE,       /* the host's own: the device cannot reach it */
    GM_PINNED,         /* page-locked: the copy engines read and write it directly, */
    GM_WRITE_COMBINED, /* past the host's caches: fast to write in order, slow to read, */
    GM_MAPPED,         /* and meant for kernels that use it where it is, over the bus */
    GM_MANAGED,        /* its pages move to whoever touches them */
    GM_MEMORY_KINDS,   /* the number of the host's */
    GM_DEVICE = GM_MEMORY_KINDS,
} gm_memory_kind;

/* Memory of a backend, laid out by NumPy's rules (strides in bytes, any sign). */
typedef struct gm_array {
    char *data;
    int64_t itemsize;
    int64_t size;  /* elements */
    int64_t bytes; /* size * itemsize */
    int ndim;
    bool contiguous; /* C order without gaps */
    bool absent;     /* an optional input that was not given: nothing else is set */
    char kind;       /* NumPy's dtype.kind: b i u f c V ... */
    gm_memory_kind memory;
    int64_t shape[GM_MAX_DIMS];
    int64_t strides[GM_MAX_DIMS];
} gm_array;

typedef struct gm_family gm_family;
typedef struct gm_variant gm_variant;
typedef struct gm_backend gm_backend;
typedef struct gm_trace gm_trace;
typedef struct gm_device_properties gm_device_properties;
typedef void *gm_stream; /* NULL is the default stream */

/* The value of a keyword parameter: which of the two, its gm_parameter says. */
typedef union gm_value {
    int64_t integer;
    double real;
} gm_value;

/* One call of a family, after the arrays are in the backend's memory. */
typedef struct gm_call {
    const gm_family *family;
    const gm_variant *variant; /* the one asked for; NULL for "auto" */
    const gm_backend *backend;
    const gm_device_properties *device; /* properties of the device that runs it */
    gm_stream stream;
    gm_trace *trace; /* sim only: run under observation */
    gm_array in[GM_MAX_OPERANDS];
    gm_array out;
    gm_value parameters[GM_MAX_PARAMETERS]; /* in the order of the family's list */
} gm_call;

/* How a kernel is launched: made by the family, run by the backend. */
typedef struct gm_plan {
    gm_dim grid, block;
    gm_dim cluster;      /* its blocks, of which the grid is a multiple; 0: no clusters */
    size_t shared_bytes; /* dynamic shared memory */
    bool has_carveout;
    int carveout; /* per cent of the on-chip memory, asked for as shared memory */
    size_t args_size;
    gm_trace *trace;
    _Alignas(16) unsigned char args[GM_MAX_ARGS];
} gm_plan;

/* ---- the table ---------------------------------------------------------------------- */

/* What a variant's traffic should be for aligned, full tiles; 0: no claim. */
typedef struct gm_claims {
    double load_sectors;  /* sectors per global load request */
    double store_sectors; /* sectors per global store request */
    double bank_ways;     /* passes of the worst shared request over the fewest possible */
    int width;            /* bits of the widest global access */
} gm_claims;

/* The layouts of its inputs that a kernel takes. */
typedef enum gm_layout {
    GM_CONTIGUOUS, /* C order without gaps */
    GM_ROWS,       /* rows are contiguous, the other dimensions have any strides */
    GM_STRIDED,    /* any */
} gm_layout;

/* Where the arrays of a call have to be. */
typedef enum gm_place {
    GM_ANYWHERE,
    GM_IN_HOST,    /* in page-locked memory of the host */
    GM_IN_MANAGED, /* in managed memory */
} gm_place;

/* A kernel for the host: one call runs one thread, whose indices are in gm_lane. */
struct gm_lane_state;
typedef void (*gm_host_kernel)(const void *args, const struct gm_lane_state *lane);

/* What a variant needs of the arrays and parameters of a call beyond the fields of its row: shapes,
 * pitches, shared memory. GM_OK, or an error that names the variant and what it needs. It reads
 * descriptions, never data, and it may be asked about arrays that have no memory yet. */
typedef gm_status (*gm_takes_hook)(const gm_variant *variant, const gm_call *call);

/* Of a row with instances: the identifier of the one that is best for a call. */
typedef int (*gm_pick_hook)(const gm_call *call);

/* A launch that is more than one kernel launch; NULL for all others. */
typedef gm_status (*gm_launch_hook)(const gm_variant *variant, const gm_call *call, gm_plan *plan);

struct gm_variant {
    const char *name;    /* "tile_padded"; of an instance "tile_vector:b32" */
    const char *doc;     /* the lesson, one line */
    const char *follows; /* the rung below, or NULL */
    gm_dim block;
    int elements;       /* per thread and step */
    int blocks;         /* default cap of a one-dimensional grid, per multiprocessor; 0: none */
    gm_dim tile;        /* of a matrix, per block: columns, rows; 0: the block's own */
    int grid;           /* how the family makes the grid: its own enumeration */
    int shared_bytes;   /* dynamic shared memory per block, where no argument changes it */
    int alignment;      /* bytes that every array's address must be a multiple of; 0: any */
    uint64_t itemsizes; /* bit s set: takes elements of s bytes, aligned to s; 0: any */
    const char *kinds;  /* takes these dtype.kinds only, as numbers, not as bits: a NaN may come
                           back as another NaN; NULL: any */
    gm_layout layout;   /* the inputs' */
    bool strided_out;   /* writes a result with strides, which `takes` may limit; others write
                           contiguous ones */
    gm_place place;     /* of all arrays */
    bool programmatic_launch; /* starts while the kernel before it ends: gm_wait_for_previous() */
    int capability;           /* least compute capability times ten (90), or 0 */
    const char *arch;         /* the one target that has its instructions ("90a"), or NULL */
    const char *library;      /* opened at run time ("cublas"), or NULL */
    bool managed;             /* needs concurrent managed access */
    const char *cuda_only;    /* why the simulator cannot run it, or NULL */
    gm_claims claims;
    gm_takes_hook takes;  /* NULL: the fields above say it all */
    gm_pick_hook pick;    /* of a row whose kernels are its instances; NULL for all others */
    bool serves;          /* no lesson of the ladder: it is there for "auto" alone */
    const char *formerly; /* the name of an instance that was a row of its own, or NULL */
    gm_launch_hook launch;
    /* Filled by kernels/family.h. */
    const gm_variant *row;   /* of an instance: the row that it belongs to; NULL for a row */
    const char *symbol;      /* "transpose_tile_padded" */
    const char *source;      /* "transpose/tile_padded.cu", in the folder of kernels */
    const void *cuda_kernel; /* NULL when built without nvcc, or without a kernel */
    gm_host_kernel plain, traced;
};

typedef struct gm_parameter {
    const char *name;
    int64_t least, most; /* of an integer */
    bool real;           /* any floating-point number instead */
} gm_parameter;

/* An array argument and the dtypes that it may have. */
typedef struct gm_operand {
    const char *name;
    const char *kinds;  /* dtype.kind letters accepted; NULL: all */
    uint64_t itemsizes; /* bit s set for s bytes; 0: any */
    const char *dtypes; /* the same, in words, for error messages */
    bool optional;      /* may be left out; only inputs that are optional as well follow */
    bool may_be_out;    /* out may be this array: a thread reads an element, if at all, before it
                           writes it, and no other thread reads it */
    bool reread;        /* many threads read the same elements: too slow over the bus */
    bool other_dtype;   /* where the first input is the result as well: need not have its dtype */
    /* Do kernels take an array on the device that lies like this? Of others "auto" makes a packed
     * copy. NULL: they take all. */
    bool (*suits)(const gm_array *array);
} gm_operand;

/* How a call is cut into smaller ones, see gm_family.split. */
enum {
    GM_UNCUT = -1, /* the array is needed as a whole */
    GM_FLAT = -2,  /* element by element, whatever the shape */
};

struct gm_family {
    const char *name;
    const char *doc;
    const gm_variant *variants;
    int count;
    const gm_operand *inputs;
    int input_count;
    bool in_place; /* the first input is the result as well: it is changed, and returned */
    const gm_parameter *parameters;
    int parameter_count;
    char result_kind; /* dtype.kind of the result, 0 for the first input's dtype; */
    int result_bytes; /* and the bytes of its elements */

    /* Shape of the result; checks shapes and parameters. */
    gm_status (*result)(gm_call *call);
    /* Describes inputs on the device in another way, of the same elements: transposed, with the
     * parameter that says so. NULL: never. */
    void (*orient)(gm_call *call);
    /* Checks the values of the inputs, on the device and before the launch, where some would make a
     * kernel access memory out of bounds. NULL: every value is valid. */
    gm_status (*check)(const gm_call *call);
    /* The variant for "auto". Every family has one that takes all arrays that result() accepts. */
    const gm_variant *(*choose)(const gm_call *call);
    /* Is choosing slow, so that choices are kept by their layout? Then what choose, takes and pick
     * answer depends on a call's description alone, and on addresses by where they are in
     * GM_KEPT_ADDRESSES bytes; see call/kept.h. */
    bool keeps_choice;
    /* The axis along which an input is cut, GM_FLAT or GM_UNCUT. The calls on the pieces then give
     * the pieces of the result, cut along its first axis, or flat if an input is. NULL: calls are
     * never cut. */
    int (*split)(const gm_call *call, int input);
    int least_piece; /* length along the axis; 0: any */
    /* Grid, block and arguments for one variant, which takes the arrays. */
    gm_status (*plan)(const gm_variant *variant, const gm_call *call, gm_plan *plan);
    /* Of copy alone: queues the conversion of the numbers in in[0], which are aligned, to the dtype
     * of out; and is there a number of this kind and size that can be converted? */
    gm_status (*convert)(const gm_call *call);
    bool (*converts)(const gm_array *array);
};

extern const gm_family *const gm_families[];
extern const int gm_family_count;

const gm_family *gm_find_family(const char *name);
const gm_variant *gm_find_variant(const gm_family *family, const char *name);
/* The variant that once had this name. */
const gm_variant *gm_find_former(const gm_family *family, const char *name);

/* The targets that nvcc compiled for, "80,90a"; NULL when built without it. Set by the module. */
extern const char *gm_build_archs;

/* Can this backend's device run the variant at all? If not, the error says why. */
gm_status gm_variant_available(const gm_variant *variant, const gm_backend *backend,
                               const gm_device_properties *device);
/* Does the variant take arrays like these, on a device that can run it? If not, the error says
 * why. */
gm_status gm_variant_takes(const gm_variant *variant, const gm_call *call);
/* Available, and takes these arrays? If not, the error says why. */
gm_status gm_variant_fits(const gm_variant *variant, const gm_call *call);
/* gm_variant_fits without touching the error record. */
bool gm_variant_can(const gm_variant *variant, const gm_call *call);

/* Pick a variant when *variant is NULL, and an instance of a row that has several; check that it
 * fits, and plan. A grid of 0 blocks means that there is nothing to do. */
gm_status gm_prepare(const gm_variant **variant, const gm_call *call, gm_plan *plan);
/* Would that succeed for "auto"? */
bool gm_auto_takes(const gm_call *call);
/* Are the values of the inputs, which are on the device, valid for a kernel? */
gm_status gm_check(const gm_call *call);
gm_status gm_launch(const gm_variant *variant, const gm_call *call, const gm_plan *plan);
/* For a row whose work is a call of another family: begins that call, on the same device and
 * stream. Arrays and parameters, which are 0, remain to be set; a call is large, and is not copied.
 */
void gm_begin_like(const gm_call *call, const char *family, gm_call *other);
/* For a row whose work is a copy: runs the copy family from `from`, of any layout, to `to`, which
 * is contiguous. */
gm_status gm_launch_copy(const gm_call *call, const gm_array *from, const gm_array *to,
                         gm_plan *plan);

/* What a noun ends with after a number. */
#define GM_PLURAL(count) ((count) == 1 ? "" : "s")

/* An input with another number of dimensions is an error, which ends with `what` they are. */
gm_status gm_expect_dimensions(const gm_call *call, int input, int ndim, const char *what);

/* "(3, 4)", or as much of it as there is room for. */
void gm_print_shape(const gm_array *array, char *text, size_t room);

/* Are the elements of a row contiguous? */
bool gm_rows_contiguous(const gm_array *array);
/* Is the address of every element a multiple of its size? */
bool gm_elements_aligned(const gm_array *array);
/* Aligned, and without gaps. */
bool gm_is_packed(const gm_array *array);

/* Largest power of two up to 16 that divides the value. Of addresses and sizes or-ed together it is
 * the widest unit in which all of them can be accessed. */
int gm_width_dividing(uintptr_t bits);

/* The variant, or the instance of it that is best for the call. */
const gm_variant *gm_instance(const gm_variant *variant, const gm_call *call);

/* A row of the call's family by its identifier (see kernels/rows.h). */
const gm_variant *gm_row(const gm_call *call, int row);

/* Rows to try, best first; the last one is taken without a trial. */
#define GM_ROWS(...) (const int[]){__VA_ARGS__}, sizeof((const int[]){__VA_ARGS__}) / sizeof(int)

/* The first of `count` rows that fits; the last one if no other does. */
const gm_variant *gm_first_that_fits(const gm_call *call, const int *rows, size_t count);

/* Blocks of a one-dimensional grid-stride kernel over a number of elements: at least one, at most
 * max_blocks or, where that is 0, the variant's own cap. */
unsigned gm_grid_blocks(const gm_variant *variant, const gm_call *call, int64_t elements,
                        int64_t max_blocks);

#endif
