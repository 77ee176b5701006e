/* The family of the race probes: two threads at one byte. */
#define GM_FAMILY race
#define GM_LADDER "race/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(race);
