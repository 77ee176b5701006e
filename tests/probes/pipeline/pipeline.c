/* The family of the pipeline probes: waits that do not cover their asynchronous copy, and the like.
 */
#define GM_FAMILY pipeline
#define GM_LADDER "pipeline/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(pipeline);
