"""Transposes of tall matrices: columns that take more than a quarter of the L2 are cut into bands.

A band is along x of the grid, where this device counts fewer blocks than a whole column has tiles:
it refuses a column that is not cut. Prints which it takes, by quarters of the L2.
"""

import fake_device as fake  # first
import numpy as np

import gpumem as gm

MOST_BLOCKS = 150  # more than a band has tiles
TILE = 64  # rows and columns of a tile of floats

fake.set_most_blocks(MOST_BLOCKS)
(device,) = gm.info()["backends"]["cuda"]["devices"]
quarter = device["l2_bytes"] // (4 * TILE * 4)  # rows of a column of tiles
takes = []
for rows in (quarter, quarter + 1):
    assert rows > MOST_BLOCKS * TILE
    a = np.arange(rows * (TILE + 1), dtype="u4").reshape(rows, TILE + 1)
    try:
        out = gm.transpose(gm.to_device(a, backend="cuda"), variant="tile_vector:b32")
        assert np.array_equal(out.to_host(), a.T)
        takes.append(True)
    except ValueError as error:
        assert "more than a grid has blocks" in str(error), error
        takes.append(False)
fake.check()
print(*takes)
