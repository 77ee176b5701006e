/* The family of the constant probes: patterns of access to constant memory. */
#define GM_FAMILY constant
#define GM_LADDER "constant/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(constant);
