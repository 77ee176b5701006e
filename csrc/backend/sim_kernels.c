/*
 * Describes the kernels of this shared object to the simulator.
 *
 * The linker gives every shared object section bounds and thread-local storage of its own, so that
 * another shared object with kernels describes itself by linking this file too.
 */
#define _GNU_SOURCE
#include "backend/sim_kernels.h"

#include <link.h>
#include <sys/mman.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* The bounds of sections; both NULL where there is no such section. */
extern const gm_site_record __start_gm_sites[] __attribute__((weak)) HIDDEN;
extern const gm_site_record __stop_gm_sites[] __attribute__((weak)) HIDDEN;
extern char __start_gm_constant[] __attribute__((weak)) HIDDEN;
extern char __stop_gm_constant[] __attribute__((weak)) HIDDEN;
extern char __start_gm_variable[] __attribute__((weak)) HIDDEN;
extern char __stop_gm_variable[] __attribute__((weak)) HIDDEN;

static gm_module module;

/* Some thread-local variable of this shared object, and its offset among them all. */
static _Thread_local char anchor;
static uintptr_t anchor_offset;

static uintptr_t shared_begin(void)
{
    return (uintptr_t)&anchor - anchor_offset;
}

static gm_lane_state *own_lane(void)
{
    return &gm_lane;
}

static int find_object(struct dl_phdr_info *info, size_t size, void *storage)
{
    gm_region image = {UINTPTR_MAX, 0};
    size_t shared_bytes = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD) {
            uintptr_t begin = info->dlpi_addr + segment->p_vaddr;
            image.begin = begin < image.begin ? begin : image.begin;
            image.end = begin + segment->p_memsz > image.end ? begin + segment->p_memsz : image.end;
        } else if (segment->p_type == PT_TLS) {
            shared_bytes = segment->p_memsz;
        }
    }
    if (!gm_region_holds(image, (uintptr_t)&module)) {
        return 0;
    }
    module.image = image;
    *(size_t *)storage = shared_bytes;
    bool known = size >= offsetof(struct dl_phdr_info, dlpi_tls_data) + sizeof info->dlpi_tls_data;
    if (known && info->dlpi_tls_data) {
        anchor_offset = (uintptr_t)&anchor - (uintptr_t)info->dlpi_tls_data;
        module.shared_bytes = shared_bytes;
    }
    return 1;
}

static gm_region between(const char *begin, const char *end)
{
    return (gm_region){(uintptr_t)begin, (uintptr_t)end};
}

/* Is there room for the thread-local storage, which glibc ends the process without? The margin is
 * for what other threads take meanwhile. Not by malloc, which is the kernels' in a user's module.
 */
static bool has_room(size_t bytes)
{
#ifdef __GLIBC__
    const size_t room = 4 * bytes + ((size_t)1 << 18);
    void *probe = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return probe != MAP_FAILED && munmap(probe, room) == 0;
#else
    (void)bytes; /* other C libraries allocate it before this, or fail to load the object */
    return true;
#endif
}

/* While the shared object is loaded: the loader answers under a lock, which a child of fork may
 * find taken. Without memory for the thread-local storage of this thread, it has no image. */
static __attribute__((constructor)) void describe(void)
{
    size_t storage = 0;
    dl_iterate_phdr(find_object, &storage);
    if (!has_room(storage)) {
        module.image = (gm_region){0, 0};
        return;
    }
    anchor = 1; /* touched, so that this thread has its thread-local storage by now */
    module.sites = __start_gm_sites;
    module.sites_end = __stop_gm_sites;
    module.constant = between(__start_gm_constant, __stop_gm_constant);
    module.variables = between(__start_gm_variable, __stop_gm_variable);
    module.shared_begin = shared_begin;
    module.lane = own_lane;
    dl_iterate_phdr(find_object, &storage);
}

const gm_module *gm_sim_kernels(void)
{
    return &module;
}
