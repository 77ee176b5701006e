/* What a traced run finds, if it is to find all and not only the first. */
#ifndef GPUMEM_SIM_FINDINGS_H
#define GPUMEM_SIM_FINDINGS_H

#include "gpumem.h"

typedef struct gm_finding {
    gm_error error; /* of the first of its sort: the same rule, kernel and lines */
    int64_t count;
} gm_finding;

typedef struct gm_findings {
    gm_finding *list; /* in the order in which they were found */
    int count, room;
    int64_t stopped; /* blocks that could not go on */
    bool cut;        /* the run ended early, or not all findings were kept */
} gm_findings;

/* Can a kernel that breaks the rule go on? */
bool gm_rule_goes_on(gm_rule rule);
/* Adds an error, or counts it if it is of the same sort as an earlier one. */
gm_status gm_findings_add(gm_findings *findings, const gm_error *error);
void gm_findings_free(gm_findings *findings);

#endif
