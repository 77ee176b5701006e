#include "backend/kernel_list.h"

#include <stddef.h>

static gm_kernel_list *first;

void gm_enlist_kernels(gm_kernel_list *list)
{
    list->next = first;
    first = list;
}

const gm_kernel_list *gm_listed_kernels(void)
{
    return first;
}
