/* Loads modules of kernels and gives them the simulator's functions. */
#define _GNU_SOURCE
#include "sim/loader.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/statvfs.h>

#include "sim/lane.h"

/* The functions as addresses: their types are the business of those who call them. */
#define ENTRY(name) extern GM_HIDDEN char gm_entry_of_##name __asm__(#name);
#include "sim/entry_points.def"
#undef ENTRY

static bool may_not_execute(const char *path)
{
    struct statvfs where;
    return statvfs(path, &where) == 0 && (where.f_flag & ST_NOEXEC);
}

/* The C library says why in words, and where mapping fails, not even whether for want of memory:
 * the other cause is a file system whose files may not be executed, which the caller has ruled out.
 */
static bool is_out_of_memory(const char *why)
{
    static const char *const words[] = {"annot allocate memory", "out of memory", "map segment",
                                        "map zero-fill", "memory protection"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(why, words[i])) {
            return true;
        }
    }
    return false;
}

gm_status gm_loader_open(const char *path, gm_loaded *loaded)
{
    const gm_entry_point entries[] = {
#define ENTRY(name) (gm_entry_point)(uintptr_t) & gm_entry_of_##name,
#include "sim/entry_points.def"
#undef ENTRY
    };
    *loaded = (gm_loaded){.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    if (!loaded->handle) {
        const char *why = dlerror();
        if (may_not_execute(path)) {
            return gm_fail(GM_ERROR_UNAVAILABLE,
                           "cannot load the compiled kernels: %s is on a file system whose files "
                           "may not be executed (noexec); GPUMEM_CACHE_DIR chooses another folder",
                           path);
        }
        return gm_fail(is_out_of_memory(why) ? GM_ERROR_MEMORY : GM_ERROR_UNAVAILABLE,
                       "cannot load the compiled kernels: %s", why);
    }
    gm_module_open_function *open =
        (gm_module_open_function *)(uintptr_t)dlsym(loaded->handle, GM_MODULE_OPEN);
    int count = (int)(sizeof entries / sizeof *entries);
    const gm_module *module =
        open ? open(entries, count, &loaded->kernels, &loaded->variables) : NULL;
    if (!module) {
        dlclose(loaded->handle);
        return gm_fail(GM_ERROR_UNAVAILABLE,
                       "cannot load the compiled kernels: %s was compiled for another version of "
                       "gpumem",
                       path);
    }
    if (!gm_region_holds(module->image, (uintptr_t)module)) {
        dlclose(loaded->handle);
        return gm_fail(GM_ERROR_MEMORY, "out of memory for the variables of the compiled kernels");
    }
    loaded->module = *module;
    loaded->module.loaded = true;
    while (loaded->kernels[loaded->kernel_count].name) {
        loaded->kernel_count++;
    }
    return GM_OK;
}

void gm_loader_name_variables(gm_loaded *loaded, gm_extents shared, gm_extents constant,
                              gm_extents variables)
{
    loaded->module.shared_extents = shared;
    loaded->module.constant_extents = constant;
    loaded->module.variable_extents = variables;
}
