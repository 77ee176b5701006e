/* The family of the pattern probes. */
#define GM_FAMILY pattern
#define GM_LADDER "pattern/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(pattern);
