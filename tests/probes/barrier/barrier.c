/* The family of the barrier probes: barriers, shuffles and votes, all correct. */
#define GM_FAMILY barrier
#define GM_LADDER "barrier/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(barrier);
