/* What a finding of the simulator is about. */
#ifndef GPUMEM_RULES_H
#define GPUMEM_RULES_H

typedef enum gm_rule {
    GM_NO_RULE,
#define RULE(constant, name, goes_on) GM_RULE_##constant,
#include "rules.def"
#undef RULE
} gm_rule;

#endif
