"""CuPy, PyTorch and Numba by one set of methods, for tests on a GPU."""

import numpy as np
import pytest

SPIN = 200_000_000  # clock ticks: a tenth of a second, in which an order that is missing shows


class Torch:
    def __init__(self):
        self.it = pytest.importorskip("torch")
        if not self.it.cuda.is_available():
            pytest.skip("this PyTorch has no CUDA")

    def array(self, a):
        return self.it.tensor(a, device="cuda")

    def host(self, x):
        return x.cpu().numpy()

    def adopt(self, d):
        return self.it.from_dlpack(d)

    def by_interface(self, d):
        return self.it.as_tensor(d, device="cuda")

    def as_stream(self, handle):
        return self.it.cuda.ExternalStream(handle)

    def pointer(self, x):
        return x.data_ptr()

    def stream(self):
        return self.it.cuda.Stream()  # non-blocking

    def on(self, stream):
        return self.it.cuda.stream(stream)

    def handle(self, stream):
        return stream.cuda_stream

    def spin(self, ticks=SPIN):
        self.it.cuda._sleep(ticks)

    def full(self, count, value):
        return self.it.full((count,), value, dtype=self.it.float32, device="cuda")

    def fill(self, x, value):
        x.fill_(value)


class Cupy:
    def __init__(self):
        self.it = pytest.importorskip("cupy")
        self.kernel = self.it.RawKernel(
            """extern "C" __global__ void spin(long long ticks)
            { long long begin = clock64(); while (clock64() - begin < ticks) { } }""",
            "spin",
        )
        self.kernel((1,), (1,), (np.int64(1),))

    def array(self, a):
        return self.it.array(a)

    def host(self, x):
        return x.get()

    def adopt(self, d):
        return self.it.asarray(d)

    by_interface = adopt

    def as_stream(self, handle):
        return self.it.cuda.ExternalStream(handle)

    def pointer(self, x):
        return x.data.ptr

    def stream(self):
        return self.it.cuda.Stream(non_blocking=True)

    def on(self, stream):
        return stream

    def handle(self, stream):
        return stream.ptr

    def spin(self, ticks=SPIN):
        self.kernel((1,), (1,), (np.int64(ticks),))

    def full(self, count, value):
        return self.it.full(count, value, "f4")

    def fill(self, x, value):
        x.fill(value)


class Numba:
    def __init__(self):
        self.it = pytest.importorskip("numba.cuda")
        if not self.it.is_available():
            pytest.skip("this Numba has no CUDA")

    def array(self, a):
        return self.it.to_device(a)

    def host(self, x):
        return x.copy_to_host()

    def adopt(self, d):
        return self.it.as_cuda_array(d)

    def pointer(self, x):
        return x.__cuda_array_interface__["data"][0]

    def stream(self):
        return self.it.stream()


def says_its_stream(x):
    """Whether a library tells us its current stream; older versions of PyTorch do not."""
    interface = x.__cuda_array_interface__
    return "stream" in interface or hasattr(type(x), "__dlpack_c_exchange_api__")
