/* The simulator's one device: its properties, and what the environment chooses of them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "backend/sim_internal.h"
#include "fork_lock.h"
#include "sim/grid.h"
#include "sim/limits.h"
#include "sim/memory.h"

enum { MAX_MULTIPROCESSORS = 1024 };

static gm_device_properties properties;
static int host_threads;
/* Those on which blocks are resident together: unless the user has chosen a number, as many as an
 * H100 has, for which kernels that rely on it are written. */
static int resident_multiprocessors = 132;
static atomic_bool is_open;
GM_FORK_LOCK(opening);

int gm_sim_host_threads(void)
{
    return host_threads;
}

int64_t gm_sim_resident_blocks(gm_dim block, size_t shared_bytes)
{
    enum { RESERVED = 1024 }; /* bytes of shared memory per block, for the system */
    int64_t threads = (int64_t)block.x * block.y * block.z;
    int64_t whole_warps = (threads + GM_WARP - 1) / GM_WARP * GM_WARP;
    int64_t by_threads = properties.threads_per_multiprocessor / whole_warps;
    int64_t by_shared = properties.shared_per_multiprocessor / (int64_t)(shared_bytes + RESERVED);
    int64_t blocks = properties.blocks_per_multiprocessor;
    blocks = by_threads < blocks ? by_threads : blocks;
    blocks = by_shared < blocks ? by_shared : blocks;
    return (blocks > 0 ? blocks : 1) * resident_multiprocessors;
}

static int usable_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return CPU_COUNT(&set);
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

/* Reads a number from an environment variable; *number is the default. */
static gm_status read_number(const char *name, int most, int *number)
{
    const char *wish = getenv(name);
    if (!wish || wish[0] == '\0') {
        return GM_OK;
    }
    char *end;
    long wanted = strtol(wish, &end, 10); /* LONG_MAX where it is larger */
    if (wish[0] < '0' || wish[0] > '9' || *end != '\0' || wanted < 1 || wanted > most) {
        return gm_fail(
            GM_ERROR_VALUE,
            "the environment variable %s is \"%.80s\", expected an integer from 1 to %d, "
            "or nothing for %d",
            name, wish, most, *number);
    }
    *number = (int)wanted;
    return GM_OK;
}

/* The user can choose the host threads, by default one per processor, and the multiprocessors. Some
 * kernels split their work by the number of multiprocessors: with the number of a GPU, the traffic
 * counted here is that of the GPU's grids. */
static gm_status read_environment(void)
{
    int usable = usable_processors();
    host_threads = usable < GM_MAX_HOST_THREADS ? usable : GM_MAX_HOST_THREADS;
    properties.multiprocessors = 16;
    gm_status status = read_number("GPUMEM_SIM_THREADS", GM_MAX_HOST_THREADS, &host_threads);
    const int usual = properties.multiprocessors;
    if (status == GM_OK) {
        status = read_number("GPUMEM_SIM_MULTIPROCESSORS", MAX_MULTIPROCESSORS,
                             &properties.multiprocessors);
    }
    if (properties.multiprocessors != usual) {
        resident_multiprocessors = properties.multiprocessors;
    }
    return status;
}

/* With the limits of compute capability 9.0, so that whatever runs here also fits a GPU. */
static void describe(void)
{
    properties = (gm_device_properties){
        .name = "gpumem simulator",
        .multiprocessors = properties.multiprocessors,
        .warp_size = GM_WARP,
        .threads_per_multiprocessor = 2048,
        .blocks_per_multiprocessor = 32,
        .shared_per_block = GM_MOST_SHARED,
        .shared_per_multiprocessor = 228 * 1024,
        .constant_bytes = 64 * 1024,
        .max_grid_x = INT32_MAX,
        .managed = true,
    };
    int64_t free_bytes;
    gm_memory_sizes(&free_bytes, &properties.memory_bytes);
}

gm_status gm_sim_open(void)
{
    gm_status status = GM_OK;
    if (atomic_load_explicit(&is_open, memory_order_acquire)) {
        return GM_OK;
    }
    pthread_mutex_lock(&opening);
    if (!atomic_load(&is_open)) {
        status = read_environment();
        if (status == GM_OK) {
            describe();
            atomic_store(&is_open, true);
        }
    }
    pthread_mutex_unlock(&opening);
    return status;
}

int gm_sim_device_count(void)
{
    return 1;
}

gm_status gm_sim_current_device(int *device)
{
    *device = 0;
    return GM_OK;
}

gm_status gm_sim_check_device(int device)
{
    return device == 0
               ? GM_OK
               : gm_fail(GM_ERROR_VALUE, "device is %d, the simulator has device 0 alone", device);
}

gm_status gm_sim_use_device(int device, int *previous)
{
    *previous = 0;
    return gm_sim_check_device(device);
}

gm_status gm_sim_can_reach(int device, int other, bool *can)
{
    *can = true;
    return gm_sim_check_device(device != 0 ? device : other);
}

gm_status gm_sim_let_reach(int device, int other, bool on, bool *before)
{
    gm_status status = gm_sim_can_reach(device, other, before);
    return status != GM_OK || on
               ? status
               : gm_fail(GM_ERROR_VALUE, "device 0 always reaches the memory of device 0");
}

gm_status gm_sim_properties(int device, const gm_device_properties **result)
{
    (void)device;
    *result = &properties;
    return GM_OK;
}
