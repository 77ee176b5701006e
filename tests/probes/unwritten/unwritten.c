/* The family of the unwritten probes: reads of elements that no thread wrote. */
#define GM_FAMILY unwritten
#define GM_LADDER "unwritten/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(unwritten);
