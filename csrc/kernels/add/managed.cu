/*
 * add / managed: one pointer, and pages that migrate by themselves.
 *
 * Follows  explicit.
 * Idea     host and device use the same addresses, and a page migrates to whoever touches it. There
 *          are no explicit copies, and data that is used on one side only never moves again.
 * Cost     a kernel that touches a page on the host stalls until it has migrated: a page fault
 * each.
 */
#include "add.h"

GM_KERNEL(add_managed, add_args)
{
    add_arrays(a);
}
