/*
 * cuBLAS, opened at run time: gpumem does not link it and works without it. One handle per device.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include <stdio.h>
#include <string.h>

#include "backend/cublas.h"
#include "cuda_internal.h"
#include "fork_lock.h"

/* As in cublas_v2.h, which need not be installed to build gpumem. */
typedef void *cublas_handle;
typedef int cublas_status;
enum { CUBLAS_NO_TRANSPOSE = 0, CUBLAS_TRANSPOSE = 1 };
enum {
    CUBLAS_NOT_INITIALIZED = 1,
    CUBLAS_ALLOC_FAILED = 3,
    CUBLAS_EXECUTION_FAILED = 13,
    CUBLAS_INTERNAL_ERROR = 14,
};

typedef cublas_status (*create_function)(cublas_handle *handle);
typedef cublas_status (*set_stream_function)(cublas_handle handle, cudaStream_t stream);
typedef const char *(*status_name_function)(cublas_status status);
typedef cublas_status (*geam_function)(cublas_handle handle, int transpose_a, int transpose_b,
                                       int64_t m, int64_t n, const void *alpha, const void *a,
                                       int64_t lda, const void *beta, const void *b, int64_t ldb,
                                       void *c, int64_t ldc);
typedef cublas_status (*sgemm_function)(cublas_handle handle, int transpose_a, int transpose_b,
                                        int64_t m, int64_t n, int64_t k, const float *alpha,
                                        const float *a, int64_t lda, const float *b, int64_t ldb,
                                        const float *beta, float *c, int64_t ldc);

GM_CHILD_LOCK(lock);
static struct {
    void *library;
    create_function create;
    set_stream_function set_stream;
    status_name_function status_name;
    geam_function sgeam, dgeam;
    sgemm_function sgemm;
} cublas;

enum { MAX_DEVICES = 64 };
static cublas_handle handles[MAX_DEVICES];

/* Tries the loader's search path, then these paths. */
static void *open_library(char *paths)
{
    static const char *const names[] = {"libcublas.so.13", "libcublas.so.12"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library) {
            return library;
        }
    }
    char *rest = NULL;
    for (char *path = strtok_r(paths, "\n", &rest); path; path = strtok_r(NULL, "\n", &rest)) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library) {
            return library;
        }
    }
    return NULL;
}

/* ISO C has no conversion from an object pointer to a function pointer; POSIX has. */
#define FIND(member, symbol) (*(void **)&cublas.member = dlsym(library, symbol))

static gm_status open_cublas(char *paths)
{
    if (cublas.library) {
        return GM_OK;
    }
    void *library = open_library(paths);
    if (!library) {
        return gm_fail(GM_ERROR_UNAVAILABLE,
                       "cuBLAS (libcublas.so.13 or .12) was found neither by the loader nor in the "
                       "CUDA toolkit nor as the wheel nvidia-cublas");
    }
    if (!FIND(create, "cublasCreate_v2") || !FIND(set_stream, "cublasSetStream_v2") ||
        !FIND(status_name, "cublasGetStatusName") || !FIND(sgeam, "cublasSgeam_64") ||
        !FIND(dgeam, "cublasDgeam_64") || !FIND(sgemm, "cublasSgemm_v2_64")) {
        dlclose(library);
        return gm_fail(GM_ERROR_UNAVAILABLE, "this cuBLAS is too old: it lacks cublasSgeam_64");
    }
    cublas.library = library;
    return GM_OK;
}

gm_status gm_cuda_library(const char *name)
{
    if (strcmp(name, "cublas") != 0) {
        return gm_fail(GM_ERROR_UNAVAILABLE, "the library %s is unknown", name);
    }
    pthread_mutex_lock(&lock);
    bool is_open = cublas.library != NULL;
    pthread_mutex_unlock(&lock);
    if (is_open) {
        return GM_OK;
    }
    char paths[16 * 1024] = "";
    if (gm_library_paths) {
        gm_library_paths("cublas", paths, sizeof paths); /* runs Python: never under a lock */
    }
    pthread_mutex_lock(&lock);
    gm_status status = open_cublas(paths);
    pthread_mutex_unlock(&lock);
    return status;
}

enum { HANDLE = 64 << 20 }; /* bytes: what a handle takes, with its workspace and code */

static bool is_device_full(void)
{
    size_t available, total;
    return gm_cuda_succeeded(cudaMemGetInfo(&available, &total)) && available < HANDLE;
}

/* Where a CUDA call of its own finds no memory, cuBLAS often says nothing but that it failed. */
static bool is_out_of_memory(cublas_status status, cudaError_t left)
{
    switch (status) {
    case CUBLAS_ALLOC_FAILED: return true;
    case CUBLAS_NOT_INITIALIZED:
    case CUBLAS_EXECUTION_FAILED:
    case CUBLAS_INTERNAL_ERROR: return left == cudaErrorMemoryAllocation || is_device_full();
    default: return false;
    }
}

static gm_status check(cublas_status status, const char *call)
{
    if (status == 0) {
        return GM_OK;
    }
    bool memory = is_out_of_memory(status, cudaGetLastError()); /* of CUDA calls that it made */
    gm_status failed =
        gm_fail(memory ? GM_ERROR_MEMORY : GM_ERROR_CUDA, "%s: %s%s", call,
                cublas.status_name(status), memory ? ", for want of device memory" : "");
    gm_error *record = gm_error_record();
    if (record) {
        record->code = status;
        snprintf(record->name, sizeof record->name, "%s", cublas.status_name(status));
        snprintf(record->call, sizeof record->call, "%s", call);
    }
    return failed;
}

/* The current device's handle, set to the stream. The lock is held: a handle serves one call
 * at a time. */
static gm_status take_handle(gm_stream stream, cublas_handle *handle)
{
    gm_cuda_device *device;
    char nowhere_else[] = "";
    TRY(open_cublas(nowhere_else));
    TRY(gm_cuda_here(&device));
    if (device->index >= MAX_DEVICES) {
        return gm_fail(GM_ERROR_UNAVAILABLE, "cuBLAS is not used beyond device %d",
                       MAX_DEVICES - 1);
    }
    if (!handles[device->index]) {
        cublas_handle made;
        /* Once it has failed for want of memory, it fails with memory, too. */
        TRY(gm_cuda_make_room(device, HANDLE, "a handle of cuBLAS"));
        TRY(check(cublas.create(&made), "cublasCreate"));
        handles[device->index] = made;
    }
    *handle = handles[device->index];
    return check(cublas.set_stream(*handle, stream), "cublasSetStream");
}

gm_status gm_cublas_transpose(int itemsize, int64_t rows, int64_t columns, const void *in,
                              int64_t pitch, void *out, gm_stream stream)
{
    static const float one = 1, zero = 0;
    static const double one_double = 1, zero_double = 0;
    cublas_handle handle = NULL;

    pthread_mutex_lock(&lock);
    gm_status status = take_handle(stream, &handle);
    if (status == GM_OK) {
        /* cuBLAS is column-major: our row-major matrices are transposes to it. */
        bool is_double = itemsize == 8;
        geam_function geam = is_double ? cublas.dgeam : cublas.sgeam;
        const void *alpha = is_double ? (const void *)&one_double : &one;
        const void *beta = is_double ? (const void *)&zero_double : &zero;
        status = check(geam(handle, CUBLAS_TRANSPOSE, CUBLAS_NO_TRANSPOSE, rows, columns, alpha, in,
                            pitch / itemsize, beta, out, rows, out, rows),
                       is_double ? "cublasDgeam" : "cublasSgeam");
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* out = factor * c + 0 * c: never reads out. */
static gm_status scale_c(cublas_handle handle, const gm_cublas_product *p, float factor)
{
    static const float zero = 0;
    return check(cublas.sgeam(handle, CUBLAS_NO_TRANSPOSE, CUBLAS_NO_TRANSPOSE, p->columns, p->rows,
                              &factor, p->c, p->c_pitch, &zero, p->c, p->c_pitch, p->out,
                              p->out_pitch),
                 "cublasSgeam");
}

static bool is_in_place(const gm_cublas_product *p)
{
    return p->c == p->out && p->c_pitch == p->out_pitch;
}

/* out = beta * c, bit by bit where beta is 1; out has no gaps. */
static gm_status scale_only(cublas_handle handle, const gm_cublas_product *p, gm_stream stream)
{
    const int64_t width = p->columns * (int64_t)sizeof *p->out;
    if (p->beta == 0) {
        return gm_cuda_fill(p->out, 0, p->rows * width, stream);
    }
    if (p->beta != 1) {
        return scale_c(handle, p, p->beta);
    }
    if (is_in_place(p)) {
        return GM_OK;
    }
    if (p->c_pitch == p->columns) {
        return gm_cuda_copy(p->out, p->c, p->rows * width, GM_WITHIN, stream);
    }
    return gm_cuda_copy_rows(p->out, width, p->c, p->c_pitch * (int64_t)sizeof *p->c, width,
                             p->rows, GM_WITHIN, stream);
}

static gm_status multiply(cublas_handle handle, const gm_cublas_product *p, gm_stream stream)
{
    if (p->depth == 0) {
        return scale_only(handle, p, stream);
    }
    /* cuBLAS adds to out. */
    if (p->beta != 0 && !is_in_place(p)) {
        TRY(scale_c(handle, p, 1));
    }
    /* cuBLAS is column-major and sees transposes: C' = op(B)' op(A)'. */
    return check(cublas.sgemm(handle, p->b.transposed, p->a.transposed, p->columns, p->rows,
                              p->depth, &p->alpha, p->b.data, p->b.pitch, p->a.data, p->a.pitch,
                              &p->beta, p->out, p->out_pitch),
                 "cublasSgemm");
}

gm_status gm_cublas_sgemm(const gm_cublas_product *product, gm_stream stream)
{
    cublas_handle handle = NULL;

    pthread_mutex_lock(&lock);
    gm_status status = take_handle(stream, &handle);
    if (status == GM_OK) {
        status = multiply(handle, product, stream);
    }
    pthread_mutex_unlock(&lock);
    return status;
}
