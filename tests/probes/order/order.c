/* The family of the order probes: almost races, all correct. */
#define GM_FAMILY order
#define GM_LADDER "order/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(order);
