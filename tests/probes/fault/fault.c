/* The family of the fault probes: wrong addresses and wrong synchronisation. */
#define GM_FAMILY fault
#define GM_LADDER "fault/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(fault);
