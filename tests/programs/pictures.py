"""The programs that compute stencils and pictures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from kernel_cases import f32, f64, floats, integers, u32, zeros
from program import Launch, Program, padded, pixels, pointers

RANDOM = np.random.default_rng(4)

MASK = np.array([0.5, 1, -1, 2, 0.25, -3, 1.5], f32)
FILTER = np.pad(RANDOM.uniform(-1, 1, 25).astype(f32), (0, 24))


def convolution(a):
    result = np.correlate(a.a.astype(f64), MASK, "same")
    return {"basic": result, "tiled": result}


def filtered(a):
    tiles = np.lib.stride_tricks.sliding_window_view(np.pad(a.a.astype(f64), 2, "edge"), (5, 5))
    return {"out": (tiles * FILTER[:25].reshape(5, 5)).sum(axis=(2, 3))}


def heated(a):
    u, v = a.u.copy(), a.v.copy()
    for _ in range(4):
        c = u[1:-1, 1:-1]
        v[1:-1, 1:-1] = c + 0.2 * (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1] - 4 * c)
        u, v = v, u
    changes = padded(abs(u - v).reshape(-1), 512).reshape(-1, 4, 128).max(axis=(0, 2))
    return {"u": u, "v": v, "change": changes}


def mandelbrot(a):
    x, y = np.meshgrid(np.arange(40), np.arange(30))
    c = (-2.25 + x * 0.08) + 1j * (1.25 - y * 0.08)
    z, n = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(50):
        inside = z.real**2 + z.imag**2 <= 4
        n += inside
        z = np.where(inside, z * z + c, z)
    return {"iterations": n, "image": np.where(n == 50, 0, 255 - n * 255 // 50)}


def next_generation(field):
    steps = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx]
    n = sum(np.roll(field, step, (0, 1)) for step in steps)
    return (n == 3) | ((n == 2) & (field != 0))


def life(a):
    generations = [a.a.astype(int)]
    for _ in range(3):
        generations.append(next_generation(generations[-1]).astype(int))
    return {"a": generations[2], "b": generations[3]}


def image(name: str, width: int = 45, height: int = 30) -> Callable[[Any], bytes]:
    return pointers("<Qii", name, width, height)


WEIGHTS_OF_BLUR = np.array([0.2, 0.15, 0.12, 0.08, 0.05], f32)


def blurred(a, axis):
    pad = [(4, 4) if i == axis else (0, 0) for i in range(2)]
    rows = np.lib.stride_tricks.sliding_window_view(np.pad(a, pad, "edge"), 9, axis)
    weights = np.concatenate([WEIGHTS_OF_BLUR[:0:-1], WEIGHTS_OF_BLUR])
    return np.floor(np.minimum(rows @ weights.astype(f64) + 0.5, 255))


def filtered_image(a):
    colours = a.colour.astype(int)
    grey = (77 * colours[..., 0] + 150 * colours[..., 1] + 29 * colours[..., 2] + 128) >> 8
    rows = blurred(grey, 1)
    return {"grey": grey, "rows": rows, "out": blurred(rows, 0)}


SPHERE = np.dtype([("centre", f32, 3), ("radius", f32), ("colour", u32)])
SCENE = np.zeros(8, SPHERE)
SCENE[:3] = [
    ((0, 0, -3), 1, 0xFF8000),
    ((1.5, 0.5, -4), 0.8, 0x20C040),
    ((0, -101, -3), 100, 0xC0C0C0),
]
LIGHT = (np.array([1, 1, 0.5]) / 1.5).astype(f32)


def spheres(a):
    x, y = np.meshgrid(np.arange(40), np.arange(30))
    d = np.stack([(x - 19.5) / 30, (14.5 - y) / 30, np.full(x.shape, -1)], axis=-1)
    d /= np.linalg.norm(d, axis=-1, keepdims=True)
    centres, radii = SCENE["centre"][:3].astype(f64), SCENE["radius"][:3].astype(f64)
    b = -(d @ centres.T)
    discriminant = b * b - (centres**2).sum(axis=1) + radii**2
    t = -b - np.sqrt(discriminant)
    t = np.where(t > 1e-3, t, np.inf)  # NaN: no intersection
    which, nearest = t.argmin(axis=-1), t.min(axis=-1)
    normal = (nearest[..., None] * d - centres[which]) / radii[which][..., None]
    diffuse = np.maximum(normal @ LIGHT, 0) * 0.8 + 0.2
    colour = SCENE["colour"][which]
    parts = [(diffuse * (colour >> shift & 255)).astype(u32) for shift in (16, 8, 0)]
    shaded = parts[0] | parts[1] << 8 | parts[2] << 16 | 0xFF000000
    hits = np.isfinite(nearest)
    return {"image": np.where(hits, shaded, 0xFF402010), "rays_that_hit": hits.sum()}


PICTURES = [
    Program("convolution1d", {"a": floats(1000), "basic": zeros(1000), "tiled": zeros(1000)},
            [Launch("convolution_1d_basic", 4, 256, ["a", "basic", 1000]),
             Launch("convolution_1d_tiled", 4, 256, ["a", "tiled", 1000], 262 * 4)],
            convolution, {"mask": MASK}, rtol=1e-5, atol=1e-5),
    Program("convolution2d", {"a": floats(21, 50), "out": zeros(21, 50)},
            [Launch("convolve<2>", (2, 3), (32, 8), ["a", "out", 50, 21])],
            filtered, {"coefficients": FILTER}, rtol=1e-4, atol=1e-5),
    Program("heat", {"u": floats(20, 50, dtype=f64), "v": floats(20, 50, dtype=f64),
                     "change": zeros(4, dtype=f64)},
            [*(Launch("heat_step", (2, 5), (32, 4), [*names, 50, 20, 0.2])
               for names in [("u", "v"), ("v", "u")] * 2),
             Launch("largest_change", 4, 128, ["u", "v", "change", 1000])],
            heated, rtol=1e-12, atol=1e-12),
    Program("mandelbrot", {"image": zeros(30, 40, dtype=np.uint8),
                           "iterations": zeros(30, 40, dtype=np.uint16)},
            [Launch("mandelbrotKernel", (3, 2), (16, 16),
                    ["image", "iterations", 40, 30, np.array([-2.25, 1.25, 0.08]), 50])],
            mandelbrot, mismatches=0.01, daily=True),
    Program("game_of_life", {"a": integers(26, 64, low=0, high=2, dtype=np.uint8),
                             "b": zeros(26, 64, dtype=np.uint8)},
            [Launch("naechste_generation", (2, 7), (32, 4), [*names, 64, 26])
             for names in ("ab", "ba", "ab")], life, daily=True),
    Program("image_filters", {"colour": pixels(30, 45, 4), "grey": zeros(30, 45, dtype=np.uint8),
                              "rows": zeros(30, 45, dtype=np.uint8),
                              "out": zeros(30, 45, dtype=np.uint8)},
            [Launch("rgba_to_grey", (2, 4), (32, 8), [image("colour"), image("grey")]),
             Launch("blur<true>", (2, 4), (32, 8), [image("grey"), image("rows")]),
             Launch("blur<false>", (2, 4), (32, 8), [image("rows"), image("out")])],
            filtered_image, {"weights": WEIGHTS_OF_BLUR}, atol=1, daily=True),
    Program("ray_sphere", {"image": zeros(30, 40, dtype=u32)},
            [Launch("render", (5, 4), (8, 8), ["image", 40, 30, 3, LIGHT])],
            spheres, {"scene": SCENE, "rays_that_hit": 0}, atol=3, mismatches=0.05),
]  # fmt: skip
