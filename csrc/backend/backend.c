/* The list of backends, and which one a name means. */
#include "backend/backend.h"

#include <stdlib.h>
#include <string.h>

const gm_backend *const gm_backends[] = {&gm_cuda, &gm_sim};
const int gm_backend_count = sizeof gm_backends / sizeof *gm_backends;

const gm_backend *gm_backend_named(const char *name)
{
    for (int i = 0; i < gm_backend_count; i++) {
        if (strcmp(gm_backends[i]->name, name) == 0) {
            return gm_backends[i];
        }
    }
    return NULL;
}

const gm_backend *gm_backend_with_memory(bool of_host)
{
    int i = 0;
    while (gm_backends[i]->host_memory != of_host) {
        i++;
    }
    return gm_backends[i];
}

const gm_backend *gm_backend_with_traces(void)
{
    int i = 0;
    while (!gm_backends[i]->traces) {
        i++;
    }
    return gm_backends[i];
}

/* A GPU that is absent means the next backend; one that fails is an error. */
static gm_status open_preferred(const gm_backend **backend)
{
    gm_status status = GM_ERROR_UNAVAILABLE;
    for (int i = 0; status == GM_ERROR_UNAVAILABLE && i < gm_backend_count; i++) {
        *backend = gm_backends[i];
        status = gm_backends[i]->open();
    }
    return status;
}

gm_status gm_backend_get(const char *name, const gm_backend **backend)
{
    const char *source = "backend";
    if (!name) {
        name = getenv("GPUMEM_BACKEND");
        source = "the environment variable GPUMEM_BACKEND";
    }
    if (!name || name[0] == '\0' || strcmp(name, "auto") == 0) {
        return open_preferred(backend);
    }
    *backend = gm_backend_named(name);
    if (!*backend) {
        return gm_fail(GM_ERROR_VALUE, "%s is \"%.80s\", expected \"auto\", \"cuda\" or \"sim\"",
                       source, name);
    }
    return (*backend)->open();
}

void gm_backend_go_back(const gm_backend *backend, int device)
{
    int previous;
    gm_error before = *gm_last_error();
    backend->use_device(device, &previous);
    gm_set_last_error(&before);
}
