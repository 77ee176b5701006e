/*
 * matmul / naive: one element per thread, whatever the stack.
 *
 * Idea     neighbouring threads have neighbours in a row of a result: in each step a warp reads one
 *          number of A, which serves all lanes, and 32 neighbours in a row of B. It takes all
 *          sizes, since threads go on to further elements.
 * Cost     two requests for 32 products, and divisions to find each element's product.
 */
#include "matmul.h"

GM_KERNEL(matmul_naive, matmul_args)
{
    const int64_t columns = a.b.lines, each = a.a.lines * columns;
    gm_wait_for_previous();
    for (int64_t i = gm_grid_index(); i < a.products * each; i += gm_grid_stride()) {
        const int64_t product = i / each, row = (i - product * each) / columns;
        const int64_t column = i - product * each - row * columns;
        matmul_factor left, right;
        matmul_go_to(a, product, &left, &right);
        const float *of_a = left.data + row * left.line_stride;
        const float *of_b = right.data + column * right.line_stride;
        float sum = 0.0f;
#pragma unroll 8 /* loads that wait side by side */
        for (int64_t depth = a.depth; depth > 0; depth--) {
            sum += *of_a * *of_b;
            of_a += left.depth_stride;
            of_b += right.depth_stride;
        }
        a.out[i] = sum;
    }
}
