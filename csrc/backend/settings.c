/* What the module tells the backends once, when it is imported. */
#include "backend/backend.h"

gm_library_hook gm_library_paths;
const char *gm_build_archs;
