"""Features of warps and blocks: shuffles, votes, barriers, cooperative groups, clocks, messages."""

from __future__ import annotations

import numpy as np
from kernel_cases import Case, f64, floats, i32, i64, integers, u32, u64, words, zeros

LANES = np.arange(32)


def mask(bits):
    """Return the bits along the last axis as words: the first is bit 0."""
    return (np.asarray(bits, u64) << np.arange(np.shape(bits)[-1], dtype=u64)).sum(
        axis=-1, dtype=u64
    )


def directions(a, out):
    t = LANES
    return a[np.concatenate([t * 0 + 5, (t * 7 + 3) & 31, np.where(t < 3, t, t - 3),
                             np.where(t > 22, t, t + 9), t ^ 21])]  # fmt: skip


def widths(a, out):
    t = LANES
    return a[np.concatenate([t // 8 * 8 + 2, np.where(t % 4 == 0, t, t - 1),
                             np.where(t % 16 > 10, t, t + 5), t ^ 1])]  # fmt: skip


def warp_sums(f, d, n, fs, ds, ns):
    return tuple(a.reshape(-1, 32).sum(axis=1) for a in (f, d, n))


def half_a_warp(a, out):
    return np.concatenate([a[:16][::-1], a[16:].reshape(8, 2)[:, ::-1].ravel() + u64(1)])


def ballots(a, out):
    a = a.reshape(-1, 32)
    return np.stack([mask(a > 0), (a > 95).any(axis=1), (a > -95).all(axis=1)], axis=1)


def equal_lanes(a):
    return mask(a[:, None] == a)


def matches(a, wide, out):
    zero = np.zeros(32, u64)
    return np.concatenate([equal_lanes(a), equal_lanes(wide), zero, zero + u64(0xFFFFFFFF)])


def rank_in_vote(a, out, count):
    kept = a[a > 0]
    return np.pad(kept, (0, 32 - kept.size)), kept.size


def of_unsigned(a, out):
    a = a.reshape(-1, 32)
    operations = (np.add, np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor)
    return np.stack([o.reduce(a, axis=1, dtype=u32) for o in operations], axis=1)


def of_signed(a, out):
    return np.where(LANES < 8, a[:8].max(), a[8:].sum() - a[8:].min())


def counting(a, out):
    a = a.reshape(-1, 64)
    count = (a > 0).sum(axis=1) * 4 + (a > -100).all(axis=1) * 2 + (a > 98).any(axis=1)
    return np.repeat(count, 64)


WARPS = [
    Case("shuffles.cu", "directions", 1, 32, [integers(32), zeros(160, dtype=i32)], directions),
    Case("shuffles.cu", "widths", 1, 32, [words(32), zeros(128, dtype=u32)], widths),
    Case("shuffles.cu", "warp_sums", 2, 64,
         [floats(128), floats(128, dtype=f64), integers(128, low=-(2**40), high=2**40, dtype=i64),
          zeros(4), zeros(4, dtype=f64), zeros(4, dtype=i64)], warp_sums, rtol=1e-5, atol=1e-5),
    Case("shuffles.cu", "half_a_warp", 1, 32, [words(32, dtype=u64), zeros(32, dtype=u64)],
         half_a_warp),
    Case("votes.cu", "ballots", 2, 64, [integers(128), zeros(12, dtype=u32)], ballots),
    Case("votes.cu", "matches", 1, 32,
         [integers(32, low=0, high=6), integers(32, low=0, high=3, dtype=u64),
          zeros(128, dtype=u32)], matches),
    Case("votes.cu", "rank_in_vote", 1, 32,
         [integers(32), zeros(32, dtype=i32), zeros(1, dtype=i32)], rank_in_vote),
    Case("votes.cu", "active", 1, 20, [zeros(20, dtype=u32)],
         lambda out: np.full(20, (1 << 20) - 1)),
    Case("warp_reduce.cu", "of_unsigned", 2, 64, [words(128), zeros(4, 6, dtype=u32)],
         of_unsigned),
    Case("warp_reduce.cu", "of_signed", 1, 32, [integers(32), zeros(32, dtype=i32)], of_signed),
    Case("barriers.cu", "counting", 3, 64, [integers(192), zeros(192, dtype=i32)], counting),
    Case("barriers.cu", "warp_steps", 1, 64, [integers(64), zeros(64, dtype=i32)],
         lambda a, out: a.reshape(2, 32).cumsum(axis=1)),
    Case("barriers.cu", "part_of_a_warp", 1, 32, [zeros(32, dtype=i32)],
         lambda out: np.where(LANES < 12, 11 - LANES, 43 - LANES)),
    Case("clocks.cu", "ticks", 1, 32, [zeros(32, dtype=i32)], lambda out: out + 3),
    Case("clocks.cu", "waits_for_a_flag", 2, 32, [zeros(1, dtype=i32), zeros(32, dtype=i32)],
         lambda flag, out: (41, 41 + LANES)),
    Case("messages.cu", "says", 2, 32, [integers(32), zeros(64, dtype=i32)],
         lambda a, out: np.resize(a + 1, 64)),
    Case("messages.cu", "holds", 1, 32, [integers(32, low=0), zeros(32, dtype=i32)],
         lambda a, out: a * 2),
]  # fmt: skip


# ---- cooperative groups -------------------------------------------------------------------


def block_indices(out):
    t = np.arange(40)
    return np.stack([t % 8 + 10 * (t // 8), t * 0 + 40, t * 0 + 40, t], axis=1)


def sums_of_eight(a, out):
    tile = np.arange(a.size // 8) % 8
    return np.repeat(a.reshape(-1, 8).sum(axis=1) + tile * 1000 + 8, 8)


def tile_operations(a, out):
    t, a = np.arange(16), a.reshape(-1, 16)
    label = a & 3
    rows = [a[:, t ^ 3] + np.where(t < 2, a, np.roll(a, 2, axis=1)),
            np.repeat(mask(a > 0), 16),
            np.repeat(2 * (a > 90).any(axis=1) + (a > -90).all(axis=1), 16),
            mask(label[:, :, None] == label[:, None, :]),
            np.resize(t, a.size)]  # fmt: skip
    return np.concatenate([np.ravel(row).astype(i64) for row in rows])


def kept_positive(a, kept, count, n):
    return np.pad(np.sort(a[a > 0]), (0, (a <= 0).sum())), (a > 0).sum()


def odd_and_even(a, out):
    even, odd = a[::2], a[1::2]
    result = np.empty_like(a)
    result[1::2] = odd[::-1] + 1600
    result[::2] = np.append(even[1:], even[-1]) + (even > 0).sum()
    return result


def partitions(a, out):
    def ranks(label):
        same = label[:, None] == label
        return same.sum(axis=1) * 100 + np.tril(same, -1).sum(axis=1)

    return np.stack([ranks(a > 0), ranks(a & 3)], axis=1)


def relax(a, b, n, steps):
    for _ in range(int(steps)):
        b[:] = 0.5 * (np.append(0.0, a[:-1]) + np.append(a[1:], 1.0))
        a, b = b, a
    return (b, a) if steps % 2 else (a, b)


def two_passes(a, sums, out):
    sums = a.reshape(-1, 64).sum(axis=1)
    return sums, a / sums.sum()


def reductions(a, out):
    a = a.reshape(-1, 32)
    operations = (np.add, np.maximum, np.minimum, np.bitwise_xor)
    return np.concatenate([np.repeat(o.reduce(a, axis=1), 32) for o in operations])


def own_operation(a, out):
    a = a.reshape(-1, 16)
    return np.repeat(np.take_along_axis(a, np.abs(a).argmax(axis=1)[:, None], axis=1), 16)


def scans(a, out):
    rows = a.reshape(-1, 32)
    total = rows.cumsum(axis=1)
    return np.stack([total, total - rows, np.maximum.accumulate(rows, axis=1)])


GROUPS = [
    Case("groups_block.cu", "block_sum", 3, 128, [integers(384), zeros(3, dtype=i32)],
         lambda a, out: a.reshape(3, 128).sum(axis=1)),
    Case("groups_block.cu", "block_indices", 1, (8, 5), [zeros(40, 4, dtype=i32)], block_indices),
    Case("groups_tile.cu", "sums_of_warps", 2, 64, [floats(128), zeros(128)],
         lambda a, out: np.repeat(a.reshape(-1, 32).sum(axis=1), 32), rtol=1e-5, atol=1e-5),
    Case("groups_tile.cu", "sums_of_eight", 2, 64, [floats(128), zeros(128)], sums_of_eight,
         rtol=1e-6),
    Case("groups_tile.cu", "tile_operations", 1, 64, [integers(64), zeros(320, dtype=i32)],
         tile_operations),
    Case("groups_tile.cu", "dynamic_tiles", 1, 64, [integers(64), zeros(64, dtype=i32), i32(8)],
         lambda a, out, size: a.reshape(-1, 8)[:, ::-1]),
    Case("groups_coalesced.cu", "odd_and_even", 1, 32, [integers(32), zeros(32, dtype=i32)],
         odd_and_even),
    Case("groups_coalesced.cu", "partitions", 1, 32, [integers(32), zeros(32, 2, dtype=i32)],
         partitions),
    Case("groups_coalesced.cu", "keep_positive", 3, 64,
         [integers(192), zeros(192, dtype=i32), zeros(1, dtype=i32), i32(192)], kept_positive,
         any_order=(0,)),
    Case("groups_grid.cu", "two_passes", 6, 64,
         [floats(384, low=0.5), zeros(6), zeros(384)], two_passes, cooperative=True, rtol=1e-5),
    Case("groups_grid.cu", "relax", 3, 32,
         [zeros(200, dtype=f64), zeros(200, dtype=f64), i32(200), i32(7)], relax,
         cooperative=True, rtol=1e-12),
    Case("groups_collectives.cu", "reductions", 2, 64, [integers(128), zeros(512, dtype=i32)],
         reductions),
    Case("groups_collectives.cu", "own_operation", 1, 64, [floats(64), zeros(64)], own_operation),
    Case("groups_collectives.cu", "scans", 2, 64, [integers(128), zeros(384, dtype=i32)], scans),
    Case("groups_collectives.cu", "copied", 2, 64, [integers(512), zeros(512, dtype=i32)],
         lambda a, out: a.reshape(2, 256)[:, ::-1]),
]  # fmt: skip

CASES = WARPS + GROUPS
