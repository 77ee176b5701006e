/* DLPack's codes of devices. */
#ifndef GPUMEM_DLPACK_DEVICE_H
#define GPUMEM_DLPACK_DEVICE_H

#include "memory/device.h"
#include "python/python.h"
#include <dlpack/dlpack.h>

/* What is used of DLPack 1 is all in its first minor version. */
enum { GM_DLPACK_MINOR_VERSION = 0 };

/* Names of capsules that nobody consumed yet: with a DLManagedTensor, and with a
 * DLManagedTensorVersioned. */
extern const char gm_dlpack_legacy[], gm_dlpack_versioned[];

/* The name of a capsule with a DLPackExchangeAPI. */
#define GM_DLPACK_TABLE "dlpack_exchange_api"

/* The name of a DLDeviceType for messages. */
const char *gm_dlpack_name(int type);
/* The backend that works on memory of this DLDeviceType; NULL if none does. */
const gm_backend *gm_dlpack_backend(int type);
DLDevice gm_dlpack_device_of(const gm_device_memory *memory);

/* Two integers from a sequence; -1 and an exception if it is something else. */
int gm_parse_pair(PyObject *object, const char *name, int *first, int *second);
/* Makes the name of __dlpack_device__. */
int gm_dlpack_device_init(void);
/* Asks a producer for its device: 1; 0 if it has no __dlpack_device__; -1 with an exception. */
int gm_dlpack_find(PyObject *producer, const char *name, int *type, int *device);

#endif
