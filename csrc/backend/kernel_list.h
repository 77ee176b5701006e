/* The compiled kernels of every family, for a backend that loads them all at once. */
#ifndef GPUMEM_KERNEL_LIST_H
#define GPUMEM_KERNEL_LIST_H

typedef struct gm_kernel_list {
    const void *const *kernels; /* up to a NULL */
    struct gm_kernel_list *next;
} gm_kernel_list;

/* Each family enlists its own as the extension module is loaded; the list is kept, not copied. */
void gm_enlist_kernels(gm_kernel_list *list);
const gm_kernel_list *gm_listed_kernels(void);

#endif
