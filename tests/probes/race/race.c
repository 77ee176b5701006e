/* The family of the race probes: two threads access one byte without order. */
#define GM_FAMILY race
#define GM_LADDER "race/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(race);
