/*
 * polynomial / spread, a helper: 32 copies of each coefficient side by side, one for each lane.
 */
#include "polynomial.h"

GM_KERNEL(polynomial_spread, polynomial_spread_args)
{
    const int64_t all = a.terms * POLYNOMIAL_LANES;
    for (int64_t i = gm_grid_index(); i < all; i += gm_grid_stride()) {
        if (a.itemsize == 4) {
            ((float *)a.copies)[i] = ((const float *)a.coefficients)[i / POLYNOMIAL_LANES];
        } else {
            ((double *)a.copies)[i] = ((const double *)a.coefficients)[i / POLYNOMIAL_LANES];
        }
    }
}
