/* The family of the barrier probes. */
#define GM_FAMILY barrier
#define GM_LADDER "barrier/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(barrier);
