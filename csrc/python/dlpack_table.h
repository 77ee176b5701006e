/* DLPack's C exchange API of DeviceArray. */
#ifndef GPUMEM_DLPACK_TABLE_H
#define GPUMEM_DLPACK_TABLE_H

#include "python/python.h"

/* Gives the type its __dlpack_c_exchange_api__; returns 0, or -1 with an exception. */
int gm_dlpack_table_init(PyTypeObject *type);

#endif
