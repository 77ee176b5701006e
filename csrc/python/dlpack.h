/*
 * The binary layout of DLPack 1, https://dmlc.github.io/dlpack: how libraries lend each other
 * arrays. The names of fields are the specification's; the order and the widths are the contract.
 */
#ifndef GPUMEM_DLPACK_H
#define GPUMEM_DLPACK_H

#include <stdint.h>

enum {
    DL_VERSION_MAJOR = 1,
    DL_VERSION_MINOR = 0, /* what is needed of it */
};

/* Kinds of device. */
enum {
    DL_CPU = 1,
    DL_CUDA = 2,
    DL_CUDA_HOST = 3,
    DL_CUDA_MANAGED = 13,
};

/* Codes of elements. */
enum {
    DL_INT = 0,
    DL_UINT = 1,
    DL_FLOAT = 2,
    DL_BFLOAT = 4,
    DL_COMPLEX = 5,
    DL_BOOL = 6,
};

enum {
    DL_READ_ONLY = 1 << 0,
    DL_IS_COPIED = 1 << 1,
};

typedef struct dl_device {
    int32_t type;
    int32_t id;
} dl_device;

typedef struct dl_tensor {
    void *data;
    dl_device device;
    int32_t ndim;
    struct {
        uint8_t code;
        uint8_t bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: C order */
    uint64_t byte_offset;
} dl_tensor;

/* Before version 1.0: without flags. */
typedef struct dl_legacy {
    dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_legacy *self);
} dl_legacy;

typedef struct dl_versioned {
    struct {
        uint32_t major;
        uint32_t minor;
    } version;
    void *context;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;

#endif
