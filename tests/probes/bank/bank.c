/* The family of the bank probes: patterns of shared-memory access. */
#define GM_FAMILY bank
#define GM_LADDER "bank/ladder.def"
#include "family.h"

#include "../probe_family.h"

PROBE_FAMILY(bank);
