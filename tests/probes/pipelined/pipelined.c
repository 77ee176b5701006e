/* The family of the pipelined probes: asynchronous copies, all correct. */
#define GM_FAMILY pipelined
#define GM_LADDER "pipelined/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(pipelined);
