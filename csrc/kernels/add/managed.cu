/*
 * add / managed: one pointer, and pages that move by themselves.
 *
 * Follows  explicit.
 * Idea     host and device use the same addresses, and whoever touches a page gets it. Nothing is
 *          copied by hand, and data that stays on one side never moves again.
 * Cost     a kernel that touches a page of the host stops until it is there: a fault for each.
 */
#include "add.h"

GM_KERNEL(add_managed, add_args)
{
    add_arrays(a);
}
