/* The family of the meeting probes: barriers that not all threads reach. */
#define GM_FAMILY meeting
#define GM_LADDER "meeting/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(meeting);
