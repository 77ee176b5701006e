/* The family of the too_early probes: launches that may be early and do not wait for the kernel
 * before them. */
#define GM_FAMILY too_early
#define GM_LADDER "too_early/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(too_early);
