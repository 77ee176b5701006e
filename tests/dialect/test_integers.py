"""Integer intrinsics, against Python's integers."""

from __future__ import annotations

import numpy as np
import pytest
from host_library import COMPILERS, build, call, loop


def signed(x, bits):
    return (x + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def parts(word, size, sign):
    """The parts of a word, each of `size` bits."""
    found = [word >> at & ((1 << size) - 1) for at in range(0, 32, size)]
    return [signed(x, size) for x in found] if sign else found


def joined(values, size):
    return sum((int(v) & ((1 << size) - 1)) << size * k for k, v in enumerate(values))


def clamp(x, size, sign):
    low, high = (-(1 << (size - 1)), (1 << (size - 1)) - 1) if sign else (0, (1 << size) - 1)
    return min(max(x, low), high)


def average(a, b):
    return (a + b + (a + b >= 0)) >> 1


RELATIONS = {
    "eq": (False, lambda a, b: a == b), "ne": (False, lambda a, b: a != b),
    "ges": (True, lambda a, b: a >= b), "geu": (False, lambda a, b: a >= b),
    "gts": (True, lambda a, b: a > b), "gtu": (False, lambda a, b: a > b),
    "les": (True, lambda a, b: a <= b), "leu": (False, lambda a, b: a <= b),
    "lts": (True, lambda a, b: a < b), "ltu": (False, lambda a, b: a < b),
}  # fmt: skip


def of_parts(size):
    """name: (whether parts have a sign, function of two parts)."""
    found = {
        "add": (True, lambda a, b: a + b), "sub": (True, lambda a, b: a - b),
        "addss": (True, lambda a, b: clamp(a + b, size, True)),
        "addus": (False, lambda a, b: clamp(a + b, size, False)),
        "subss": (True, lambda a, b: clamp(a - b, size, True)),
        "subus": (False, lambda a, b: clamp(a - b, size, False)),
        "avgs": (True, average), "avgu": (False, lambda a, b: (a + b + 1) >> 1),
        "haddu": (False, lambda a, b: (a + b) >> 1),
        "maxs": (True, max), "maxu": (False, max), "mins": (True, min), "minu": (False, min),
        "absdiffs": (True, lambda a, b: abs(a - b)), "absdiffu": (False, lambda a, b: abs(a - b)),
    }  # fmt: skip
    for name, (sign, relation) in RELATIONS.items():
        found[f"cmp{name}"] = sign, lambda a, b, r=relation: -r(a, b)
        found[f"set{name}"] = sign, relation
    return found


UNARY = {"abs": abs, "neg": lambda a: -a}

# name: (types of the parameters, type of the result, what Python computes)
WORDS = {
    "__popc": ("u", "i", lambda a: bin(a).count("1")),
    "__popcll": ("U", "i", lambda a: bin(a).count("1")),
    "__clz": ("i", "i", lambda a: 32 - (a % 2**32).bit_length()),
    "__clzll": ("I", "i", lambda a: 64 - (a % 2**64).bit_length()),
    "__ffs": ("i", "i", lambda a: (a & -a).bit_length()),
    "__ffsll": ("I", "i", lambda a: (a & -a).bit_length()),
    "__brev": ("u", "u", lambda a: int(f"{a:032b}"[::-1], 2)),
    "__brevll": ("U", "U", lambda a: int(f"{a:064b}"[::-1], 2)),
    "__mulhi": ("ii", "i", lambda a, b: a * b >> 32),
    "__umulhi": ("uu", "u", lambda a, b: a * b >> 32),
    "__mul64hi": ("II", "I", lambda a, b: a * b >> 64),
    "__umul64hi": ("UU", "U", lambda a, b: a * b >> 64),
    "__mul24": ("ii", "i", lambda a, b: signed(signed(a, 24) * signed(b, 24), 32)),
    "__umul24": ("uu", "u", lambda a, b: (a % 2**24) * (b % 2**24) % 2**32),
    "__sad": ("iiu", "u", lambda a, b, c: (abs(a - b) + c) % 2**32),
    "__usad": ("uuu", "u", lambda a, b, c: (abs(a - b) + c) % 2**32),
    "__hadd": ("ii", "i", lambda a, b: (a + b) >> 1),
    "__uhadd": ("uu", "u", lambda a, b: (a + b) >> 1),
    "__rhadd": ("ii", "i", lambda a, b: (a + b + 1) >> 1),
    "__urhadd": ("uu", "u", lambda a, b: (a + b + 1) >> 1),
    "__funnelshift_l": ("uuu", "u", lambda a, b, c: (((b << 32) + a) << c % 32) >> 32 & 0xFFFFFFFF),
    "__funnelshift_r": ("uuu", "u", lambda a, b, c: (((b << 32) + a) >> c % 32) & 0xFFFFFFFF),
    "__dp4a": ("iii", "i", lambda a, b, c: signed(
        sum(x * y for x, y in zip(parts(a, 8, True), parts(b, 8, True), strict=True)) + c, 32)),
    "__dp2a_lo": ("uuu", "u", lambda a, b, c: (
        sum(x * y for x, y in zip(parts(a, 16, False), parts(b, 8, False)[:2], strict=True)) + c)
        % 2**32),
    "__dp2a_hi": ("iii", "i", lambda a, b, c: signed(
        sum(x * y for x, y in zip(parts(a, 16, True), parts(b, 8, True)[2:], strict=True)) + c,
        32)),
    "__byte_perm": ("uuu", "u", lambda a, b, c: joined(
        [((b << 32) + a) >> (c >> 4 * k & 7) * 8 & 255 for k in range(4)], 8)),
    "__vsads4": ("uu", "u", lambda a, b: sum(
        abs(x - y) for x, y in zip(parts(a, 8, True), parts(b, 8, True), strict=True))),
    "__vsadu2": ("uu", "u", lambda a, b: sum(
        abs(x - y) for x, y in zip(parts(a, 16, False), parts(b, 16, False), strict=True))),
    "__vimax3_s32": ("iii", "i", max),
    "__vimin3_s32_relu": ("iii", "i", lambda a, b, c: max(min(a, b, c), 0)),
    "__viaddmin_u32": ("uuu", "u", lambda a, b, c: min((a + b) % 2**32, c)),
    "__vimax3_s16x2": ("uuu", "u", lambda a, b, c: joined(
        map(max, *(parts(x, 16, True) for x in (a, b, c))), 16)),
    "__viaddmax_s16x2_relu": ("uuu", "u", lambda a, b, c: joined(
        [max(signed(x + y, 16), z, 0)
         for x, y, z in zip(*(parts(x, 16, True) for x in (a, b, c)), strict=True)], 16)),
}  # fmt: skip
TYPES = {
    "i": ("int", np.int32), "u": ("unsigned", np.uint32), "I": ("long long", np.int64),
    "U": ("unsigned long long", np.uint64),
}  # fmt: skip


def words():
    """All of the above, with the ones of parts as functions of words."""
    found = dict(WORDS)
    for count, size in ((2, 16), (4, 8)):
        for name, (sign, function) in of_parts(size).items():
            found[f"__v{name}{count}"] = (
                "uu",
                "u",
                lambda a, b, s=size, g=sign, f=function: joined(
                    map(f, parts(a, s, g), parts(b, s, g)), s
                ),
            )
        for name, function in UNARY.items():
            found[f"__v{name}{count}"] = (
                "u",
                "u",
                lambda a, s=size, f=function: joined(map(f, parts(a, s, True)), s),
            )
            found[f"__v{name}ss{count}"] = (
                "u",
                "u",
                lambda a, s=size, f=function: joined(
                    (clamp(f(x), s, True) for x in parts(a, s, True)), s
                ),
            )
    return found


@pytest.mark.parametrize("compiler", COMPILERS)
def test_equal_to_pythons_integers(compiler, tmp_path, rng):
    table = words()
    source = "".join(
        loop(f"x{name}", f"{name}({', '.join('abc'[: len(kinds)])})", TYPES[result][0],
             *(TYPES[k][0] for k in kinds))
        for name, (kinds, result, _) in table.items()
    )  # fmt: skip
    library = build(source, tmp_path, compiler)
    for name, (kinds, result, function) in table.items():
        arrays = []
        for kind in kinds:
            dtype = TYPES[kind][1]
            info = np.iinfo(dtype)
            drawn = rng.integers(info.min, info.max, 200, dtype=dtype, endpoint=True)
            drawn[:6] = 0, 1, info.max, info.min, info.max // 2, 3
            drawn[6:9] = np.array([0x80808080, 0x80008000, 0x7FFF7FFF], np.uint32).astype(dtype)
            arrays.append(rng.permutation(drawn))
        got = call(library, f"x{name}", TYPES[result][1], *arrays)
        want = [function(*map(int, of)) for of in zip(*arrays, strict=True)]
        assert [int(x) for x in got] == want, name
