"""Every variant on the fake device: as soon as possible, as late as possible, and in between."""

import fake_device as fake  # first
import numpy as np
import small_calls

import gpumem as gm
from gpumem.families import oracle

fake.protect(True)
for shape in ((40, 200), (200, 40)):  # grids that are wider than high, and higher than wide
    matrix = np.arange(8000, dtype="f4").reshape(shape)
    got = gm.transpose(matrix, variant="tile", backend="cuda")
    np.testing.assert_array_equal(got, matrix.T)
fake.check()
number = 0
for pace in (0, 50, 100):
    fake.set_pace(pace, 1 + pace)
    for variant in gm.variants():
        if "cuBLAS" in variant.requires or variant.reason_on("sim"):
            continue  # not a kernel that the simulator runs
        call = small_calls.make(variant.family, variant.name)
        if not oracle.takes(variant, small_calls.shape_of(variant.family, variant.name), None):
            dtype = oracle.dtype_of(variant)
            shape = oracle.shape_for(variant.family, 256, dtype, variant.name)
            arrays = oracle.arguments(variant.family, shape, dtype)
            call = call._replace(arrays=dict(zip(call.arrays, arrays, strict=False)))
        inputs, keywords = call.arrays.values(), call.keywords

        def check(got, variant=variant, inputs=inputs, keywords=keywords):
            name = variant.name
            oracle.check(variant.family, got, *inputs, variant=name, **keywords)

        if variant.source.endswith(".cu") and not variant.instances:
            used = variant.attributes()
            threads = used["blocks"] * np.prod(variant.block)
            assert used["occupancy"] == threads / 2048, (variant, used)
        placed = [oracle.placed(variant, a.copy(), "cuda") for a in inputs]
        check(variant(*placed, backend="cuda", **keywords))
        if variant.memory is None:
            stream = gm.Stream(backend="cuda")
            on_device = [gm.to_device(a, backend="cuda") for a in inputs]
            check(variant(*on_device, **keywords, stream=stream).to_host())
            if variant.in_place:
                on_device[0] = gm.to_device(next(iter(inputs)), backend="cuda")
            # A chain of temporaries, each released while what uses it is queued.
            copies = [gm.copy(gm.copy(a), stream=stream) for a in on_device]
            result = variant(*copies, **keywords)
            del copies
            check(gm.copy(result).to_host())
            for kept, a in zip(on_device, inputs, strict=True):
                if not variant.in_place:
                    np.testing.assert_array_equal(kept.to_host(), a)
        fake.check()
        number += 1
print(number)
