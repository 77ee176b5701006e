/* The one list of families. Each family's own file makes its rows from its ladder.def. */
#include <string.h>

#include "gpumem.h"

/* Folders that families.def does not list, from the build. */
#ifndef GM_MORE_FAMILIES
#define GM_MORE_FAMILIES
#endif

#define FAMILY(name) extern const gm_family gm_family_##name;
#include "families.def"
GM_MORE_FAMILIES
#undef FAMILY

const gm_family *const gm_families[] = {
#define FAMILY(name) &gm_family_##name,
#include "families.def"
    GM_MORE_FAMILIES
#undef FAMILY
};

const int gm_family_count = sizeof gm_families / sizeof *gm_families;

/* Every call looks up two names: most differ in their first letter. */
static bool is_named(const char *known, const char *name)
{
    return known[0] == name[0] && strcmp(known, name) == 0;
}

const gm_family *gm_find_family(const char *name)
{
    for (int i = 0; i < gm_family_count; i++) {
        if (is_named(gm_families[i]->name, name)) {
            return gm_families[i];
        }
    }
    return NULL;
}

const gm_variant *gm_find_former(const gm_family *family, const char *name)
{
    for (int i = 0; i < family->count; i++) {
        const char *formerly = family->variants[i].formerly;
        if (formerly && is_named(formerly, name)) {
            return &family->variants[i];
        }
    }
    return NULL;
}

const gm_variant *gm_find_variant(const gm_family *family, const char *name)
{
    for (int i = 0; i < family->count; i++) {
        if (is_named(family->variants[i].name, name)) {
            return &family->variants[i];
        }
    }
    return NULL;
}
