/* permute: tiles of matrices, and the grid of permute_spot_of that counts them. */
#include "permute/plan_grid.h"

#include "permute/plan_matrices.h"

permute_tiling permute_tiling_of(const permute_layout *layout, int closest, int64_t columns,
                                 int64_t rows, int64_t halo)
{
    enum { BAND = 128 /* tiles */ };
    permute_tiling tiles = {
        .across = permute_divide_up(layout->extent[closest], columns),
        .down = permute_divide_up(layout->extent[0] + halo, rows),
    };
    tiles.bands = permute_divide_up(tiles.down, BAND);
    tiles.all = permute_divide_up(tiles.down, tiles.bands) * tiles.bands;
    for (int d = 1; d < layout->ndim && tiles.all > 0; d++) {
        int64_t here = d == closest ? tiles.across : layout->extent[d];
        tiles.all = here > INT32_MAX / tiles.all ? 0 : tiles.all * here;
    }
    return tiles;
}

void permute_fill_grid(const permute_tiling *tiles, const permute_layout *layout, int closest,
                       gm_plan *plan, permute_grid *grid)
{
    enum { MOST = 65535 /* blocks along y and z */ };
    const int64_t down = permute_divide_up(tiles->down, tiles->bands); /* a band */
    const int64_t columns = tiles->all / down, bands = columns / tiles->across;
    *grid = (permute_grid){
        .tiles_x = permute_divisor_of(tiles->across),
        .bands = permute_divisor_of(tiles->bands),
        .tiles_y = (uint32_t)tiles->down,
        .outer = permute_outer_axes(layout, closest),
    };
    plan->grid.x = (unsigned)down;
    if (tiles->across <= MOST && bands <= MOST) {
        plan->grid.y = (unsigned)tiles->across;
        plan->grid.z = (unsigned)bands;
    } else {
        plan->grid.z = (unsigned)permute_divide_up(columns, MOST);
        plan->grid.y = (unsigned)permute_divide_up(columns, plan->grid.z);
        grid->columns = (uint32_t)columns;
    }
}
