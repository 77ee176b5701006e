"""Fit matmul's paces to times of all variants: python tools/fit_products.py FILE.json...

Prints the regret (time of the variant that the model picks over the fastest) with the old and with
the fitted constants, on the third that is held out; then the table for matmul.c.
"""

import json, math, re, sys
from pathlib import Path
import numpy as np
from scipy.optimize import least_squares

GHZ = 1.755
cd = lambda a, b: -(-a // b)
SRC = (Path(__file__).resolve().parent.parent / "csrc/kernels/matmul/matmul.c").read_text()
NAMES = {
    "tiles_w32x32": "tiles:w32x32",
    "tiles_32x32": "tiles:32x32",
    "tiles_16x64": "tiles:16x64",
    "tiles_64x64": "tiles:64x64",
    "tiles_p64x32": "tiles:p64x32",
    "warp_tiles_32x64": "warp_tiles:32x64",
    "warp_tiles_64x64": "warp_tiles:64x64",
    "warp_tiles_p64x64": "warp_tiles:p64x64",
    "warp_tiles_128x128": "warp_tiles:128x128",
    "tma": "tma",
    "sgemm": "sgemm",
}
P = {}
for m in re.finditer(
    r"\[matmul_row_(\w+)\] = \{([^}]*)\}", SRC[SRC.index("paces[variant_count]") :]
):
    if m[1] in NAMES:
        P[NAMES[m[1]]] = [float(x) for x in m[2].replace("\n", " ").split(",")]
SMS = 132
MEM = 4.8e12 * 0.9 / SMS / (GHZ * 1e9)
CACHE, LAUNCH = 24, 3000


def inside(lines, tile, together):
    t = cd(lines, tile)
    rest = lines - (t - 1) * tile
    edge = 0.25 + 0.75 * cd(rest, together) * together / tile if together < tile else 1
    return (t - 1 + edge) / t


def single(s, lines, tile):
    return tile * (2 - (lines // tile) / cd(lines, tile)) if s else 0


def model(p, z, share):
    h, w, gr, gc, teams, nb, rate, alone, lat, setup, sg, adding = p[:12]
    h, w, gr, gc, teams, nb = map(int, (h, w, gr, gc, teams, nb))
    shares = cd(z["k"], share)
    tiles = z["s"] * cd(z["m"], h) * cd(z["n"], w)
    blocks = cd(tiles, teams) * shares
    steps = cd(share, 8) * 8
    lines = single(z["sr"], z["m"], h) + single(z["sc"], z["n"], w)
    prod = steps * teams * h * w * inside(z["m"], h, gr) * inside(z["n"], w, gc)
    s = steps * teams * lines * sg
    al = lat + prod / alone + s
    sh = setup + prod / rate + s
    slots = SMS * nb
    rounds, last = divmod(blocks, slots)
    rest = 0 if last == 0 else max(cd(last, SMS) * sh, al)
    t = rounds * max(nb * sh, al) + rest
    loads = 4 * z["s"] * z["k"] * (z["m"] + z["n"])
    stores = 4 * z["s"] * z["m"] * z["n"]
    t = max(t, (loads + stores) / (MEM * SMS))
    t = max(t, tiles * z["k"] * 4 * (h + w) / (CACHE * SMS)) + LAUNCH
    if shares > 1:
        t += adding + stores * 2 * shares / (CACHE * SMS)
    return t


def best(p, z):
    t0 = model(p, z, z["k"])
    best_share = z["k"]
    blocks = cd(z["s"] * cd(z["m"], int(p[0])) * cd(z["n"], int(p[1])), int(p[4]))
    for e in (1, 2, 3, 4, 6, 8, 12, 16):
        shares = e * SMS // blocks
        if shares < 2:
            continue
        longer = max(cd(z["k"], min(shares, int(p[13]))), int(p[12]))
        share = cd(longer, 128) * 128
        if share >= z["k"]:
            break
        t = model(p, z, share)
        if t < 0.97 * t0:
            t0, best_share = t, share
    return t0, best_share


def describe(name, r):
    z = dict(s=r["stack"], m=r["m"], n=r["n"], k=r["k"])
    deep_a, deep_b = not r["trans_a"] or r["m"] == 1, bool(r["trans_b"])
    va = (r["k"] if deep_a else r["m"]) % 4 == 0
    vb = (r["k"] if deep_b else r["n"]) % 4 == 0
    if name.startswith("tiles"):
        z["sr"], z["sc"] = deep_a or not va, deep_b or not vb
        if P[name][0] != P[name][1]:
            h, w = int(P[name][0]), int(P[name][1])
            if cd(r["n"], h) * cd(r["m"], w) < cd(r["m"], h) * cd(r["n"], w):
                z["m"], z["n"] = z["n"], z["m"]
                z["sr"], z["sc"] = z["sc"], z["sr"]
    elif name.startswith("warp"):
        of_a = va and (not deep_a or r["k"] % 4 == 0)
        both = of_a and vb and not deep_b
        z["sr"] = not of_a if deep_a and deep_b else not both
        z["sc"] = not both
    else:
        z["sr"] = z["sc"] = False
    return z


FREE = slice(6, 12)


def us(t):
    return t / (GHZ * 1e3)


def main():
    rows = []
    for f in sys.argv[1:]:
        if f.endswith(".json"):
            rows += json.load(open(f))["rows"]
    rows = [r for r in rows if min(r["m"], r["n"]) > 4]
    train = [r for i, r in enumerate(rows) if i % 3]
    test = [r for i, r in enumerate(rows) if i % 3 == 0]
    fitted = {}
    for name, p in P.items():
        data = [(describe(name, r), r["ms"][name] * 1e3) for r in train if name in r["ms"]]
        if name == "sgemm":
            data = [(z, t) for z, t in data if z["s"] == 1]
        if len(data) < 12:
            fitted[name] = p
            continue
        shares = [best(p, z)[1] for z, _ in data]
        p0 = np.array(p[FREE])
        scale = np.maximum(p0, [1, 1, 100, 100, 0.001, 100])

        def res(x):
            q = list(p)
            q[FREE] = list(np.maximum(x, 1e-3) * scale)
            return [math.log(us(model(q, z, sh)) / t) for (z, t), sh in zip(data, shares)]

        f = least_squares(
            res, np.maximum(p0 / scale, 0.01), loss="soft_l1", f_scale=0.05, bounds=(1e-3, 80)
        )
        q = list(p)
        q[FREE] = list(np.maximum(f.x, 1e-3) * scale)
        fitted[name] = q
        r0, r1 = np.abs(res(p0 / scale)), np.abs(res(f.x))
        print(
            f"{name:20} {len(data):4} median error {np.median(r0):.3f} -> {np.median(r1):.3f}   ",
            [float("%.3g" % v) for v in q[FREE]],
        )

    def regret(table, rows):
        out = []
        for r in rows:
            have = [n for n in table if n in r["ms"] and not (n == "sgemm" and r["stack"] > 1)]
            if not have:
                continue
            pick = min(
                have, key=lambda n: best(table[n], describe(n, r))[0] * (1 if n != "tma" else 1)
            )
            out.append(r["ms"][pick] / min(r["ms"][n] for n in have))
        return np.exp(np.log(out).mean())

    for kind in ("all", *dict.fromkeys(r["kind"] for r in rows)):
        t = [r for r in test if kind in ("all", r["kind"])]
        if not t:
            continue
        bestr = [
            r["ms"]["torch"] / min(v for n, v in r["ms"].items() if n not in ("torch", "gpumem"))
            for r in t
        ]
        now = [r["ratio"] for r in t]
        print(
            f"{kind:8} {len(t)} regret {regret(P, t):.4f} -> {regret(fitted, t):.4f} | now mean {np.exp(np.log(now).mean()):.3f} {np.mean(np.array(now) >= 1):.0%} least {min(now):.3f} | by the fastest {np.exp(np.log(bestr).mean()):.3f} {np.mean(np.array(bestr) >= 1):.0%} least {min(bestr):.3f}"
        )
    for n, q in fitted.items():
        key = next(k for k, v in NAMES.items() if v == n)
        print(
            f"    [matmul_row_{key}] = {{"
            + ", ".join("%.3g" % v if 5 < i < 12 else "%d" % v for i, v in enumerate(q))
            + "},"
        )


main()
