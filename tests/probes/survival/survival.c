/* The family of the survival probes: kernels that the processor stops. */
#define GM_FAMILY survival
#define GM_LADDER "survival/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(survival);
