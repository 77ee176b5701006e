/* Which backend a name means. */
#include "backend/backend.h"

#include <stdlib.h>
#include <string.h>

gm_library_hook gm_library_paths;

gm_status gm_backend_get(const char *name, const gm_backend **backend)
{
    const char *source = "backend";
    if (!name) {
        name = getenv("GPUMEM_BACKEND");
        source = "the environment variable GPUMEM_BACKEND";
    }
    if (!name || name[0] == '\0' || strcmp(name, "auto") == 0) {
        /* Only a GPU that is not there means the simulator; one that fails is an error. */
        gm_status status = gm_cuda.open();
        if (status != GM_OK && status != GM_ERROR_UNAVAILABLE) {
            return status;
        }
        *backend = status == GM_OK ? &gm_cuda : &gm_sim;
    } else if (strcmp(name, "cuda") == 0) {
        *backend = &gm_cuda;
    } else if (strcmp(name, "sim") == 0) {
        *backend = &gm_sim;
    } else {
        return gm_fail(GM_ERROR_VALUE, "%s is \"%.80s\", expected \"auto\", \"cuda\" or \"sim\"",
                       source, name);
    }
    return (*backend)->open();
}
