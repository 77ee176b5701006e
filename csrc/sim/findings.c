/* What a traced run finds. */
#include "sim/findings.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1000 };

bool gm_rule_goes_on(gm_rule rule)
{
    static const bool goes_on[] = {
        [GM_NO_RULE] = false,
#define RULE(constant, name, goes_on) [GM_RULE_##constant] = goes_on,
#include "rules.def"
#undef RULE
    };
    return goes_on[rule];
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_sort(const gm_error *a, const gm_error *b)
{
    return a->rule == b->rule && a->line == b->line && a->other_line == b->other_line &&
           same_text(a->file, b->file) && same_text(a->other_file, b->other_file) &&
           same_text(a->kernel, b->kernel);
}

gm_status gm_findings_add(gm_findings *findings, const gm_error *error)
{
    for (int i = 0; i < findings->count; i++) {
        if (same_sort(&findings->list[i].error, error)) {
            findings->list[i].count++;
            return GM_OK;
        }
    }
    if (findings->count == MOST) {
        findings->cut = true;
        return GM_OK;
    }
    if (findings->count == findings->room) {
        int room = findings->room ? 2 * findings->room : 8;
        gm_finding *list = realloc(findings->list, (size_t)room * sizeof *list);
        if (!list) {
            return gm_fail(GM_ERROR_MEMORY, "out of memory for the findings of a kernel");
        }
        findings->list = list;
        findings->room = room;
    }
    findings->list[findings->count++] = (gm_finding){*error, 1};
    return GM_OK;
}

void gm_findings_free(gm_findings *findings)
{
    free(findings->list);
    *findings = (gm_findings){.list = NULL};
}
