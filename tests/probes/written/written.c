/* The family of the written probes: near misses of them, all correct. */
#define GM_FAMILY written
#define GM_LADDER "written/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(written);
