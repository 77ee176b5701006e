/* The family of the pattern probes: patterns of access to global memory. */
#define GM_FAMILY pattern
#define GM_LADDER "pattern/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(pattern);
