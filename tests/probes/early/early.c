/* The family of the early probes: launches that may be early, all correct. */
#define GM_FAMILY early
#define GM_LADDER "early/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(early);
