/* The family of the speed probes: kernels in textbook style whose traced speed is measured. */
#define GM_FAMILY speed
#define GM_LADDER "speed/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(speed);
