/* The family of the written probes: almost uninitialised reads, all correct. */
#define GM_FAMILY written
#define GM_LADDER "written/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(written);
