/* The family of the order probes: near misses of the races, all correct. */
#define GM_FAMILY order
#define GM_LADDER "order/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(order);
