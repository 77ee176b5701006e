/* How fast a device's memory is, in the cycles that kernels are planned in. */
#ifndef GPUMEM_MEMORY_RATE_H
#define GPUMEM_MEMORY_RATE_H

#include "backend/backend.h"

/* Bytes that a copy of large arrays moves in a cycle, per multiprocessor: 0.87 of what clock and
 * width of the memory say. A device that does not say is taken for an H200, which moves 4 TB/s. */
static inline double gm_memory_rate(const gm_device_properties *device)
{
    const double peak = 2.0 * device->memory_clock_khz * device->memory_bus_bits / 8;
    const double cycles = (double)device->clock_khz * device->multiprocessors;
    return peak > 0 && cycles > 0 ? 0.87 * peak / cycles : 16;
}

#endif
