/* The family of the pipeline probes: asynchronous copies that are waited for too late, or wrong. */
#define GM_FAMILY pipeline
#define GM_LADDER "pipeline/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(pipeline);
