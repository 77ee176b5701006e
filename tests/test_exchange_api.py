"""DLPack's C exchange API, both ways; tests/exchange/producer.c is a library that offers it."""

import ctypes
import gc
import sys
import weakref

import dlpack
import numpy as np
import pytest
from exchange_api_cases import (
    API,
    ARRAYS,
    SIX,
    Counted,
    lend,
    make_dlpack_type,
    make_kinds,
    make_library,
    reads_by_the_api,
)
from processes import at_once, python

import gpumem as gm

library = pytest.fixture(scope="module")(make_library)
kinds = pytest.fixture(scope="module")(make_kinds)
dlpack_type = pytest.fixture(make_dlpack_type)


@pytest.fixture(autouse=True)
def on_the_simulator(monkeypatch):
    """These tests are about the host, wherever they run."""
    monkeypatch.setenv("GPUMEM_BACKEND", "sim")


# ---- reading ------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["all", "managed"])
@pytest.mark.parametrize("name", ARRAYS)
def test_functions_read_arrays_by_the_api(library, kinds, how, name):
    here = ARRAYS[name]
    there = lend(kinds[how], here)
    with Counted(library) as asked:
        got = gm.copy(there)
    assert got.dtype == here.dtype and np.array_equal(got, here)
    assert (asked.tensors > 0, asked.managed > 0) == (how == "all", how == "managed")
    assert asked.lent == asked.streams == 0  # the host has no streams
    assert np.array_equal(gm.to_device(there).to_host(), here)
    assert gm.memory_kind(there) == "pageable"


def test_loaded_kernels_read_arrays_by_the_api(library, kinds):
    kernel = gm.load(
        source="__global__ void next(const float *x, float *y) {"
        " y[threadIdx.x] = x[threadIdx.x] + 1; }",
        backend="sim",
    )["next"]
    for kind in kinds.values():
        y = np.zeros(6, "f4")
        with Counted(library) as asked:
            kernel[1, 6](lend(kind, SIX), lend(kind, y))
        assert y.tolist() == [1, 2, 3, 4, 5, 6]
        assert asked.managed == 2 and asked.lent == 0
    with pytest.raises(ValueError, match=r"float \*y was given a read-only array"):
        kernel[1, 6](SIX, lend(kinds["all"], y, flags=1))
    with pytest.raises(TypeError, match=r"next: const float \*x.* bfloat16"):
        kernel[1, 6](lend(kinds["all"], SIX, code=dlpack.BFLOAT, bits=16), y)


@pytest.mark.parametrize("how", ["all", "managed"])
@pytest.mark.parametrize("name", ARRAYS)
def test_from_dlpack_keeps_the_memory(library, kinds, how, name):
    here = ARRAYS[name].copy("K")
    there = lend(kinds[how], here)
    alive = weakref.ref(there) if kinds[how].__weakrefoffset__ else None
    with Counted(library) as asked:
        array = gm.from_dlpack(there)
    assert (asked.tensors, asked.managed, asked.lent) == (0, 1, 1)
    assert array.dtype == here.dtype and array.shape == here.shape
    del there
    gc.collect()
    assert alive is None or alive() is not None
    assert np.array_equal(array.to_host(), here)
    if here.size:
        assert array.pointer == here.ctypes.data
    del array
    gc.collect()
    assert alive is None or alive() is None


@pytest.mark.parametrize(
    "said",
    [
        {"strides": None},
        {"byte_offset": 8, "shape": [1, 2], "strides": [2, 1]},
        {"shape": [0], "strides": [1], "data": None},
        {"shape": [], "strides": []},
        {"device_type": dlpack.CUDA_HOST},
    ],
    ids=str,
)
def test_valid_tensors(kinds, said):
    there = lend(kinds["all"], SIX.copy(), **said)
    expected = SIX.ravel()[said.get("byte_offset", 0) // 4 :]
    for got in (gm.copy(there), gm.from_dlpack(there).to_host()):
        assert list(got.shape) == said.get("shape", [2, 3])
        assert np.array_equal(got.ravel(), expected[: got.size])


FAULTS = {
    "lanes": (TypeError, "has elements of 2 lanes", {"lanes": 2}),
    "bfloat32": (TypeError, "code 4 with 32 bits", {"code": 4, "bits": 32}),
    "int4": (TypeError, "code 0 with 4 bits", {"bits": 4, "code": 0}),
    "float128": (TypeError, "code 2 with 128 bits", {"bits": 128}),
    "code": (TypeError, "code 200 with 32 bits", {"code": 200}),
    "null": (ValueError, "null pointer", {"data": None}),
    "length": (ValueError, "negative", {"shape": [3, -2]}),
    "dimensions": (ValueError, "65 dimensions", {"shape": [1] * 65, "strides": [1] * 65}),
    "minus": (ValueError, "-1 dimensions", {"ndim": -1}),
    "shapeless": (ValueError, "no shape", {"shape": None, "ndim": 2}),
    "count": (ValueError, "too (large|big)", {"shape": [2**40, 2**40]}),
    "stride": (ValueError, "63 bits", {"strides": [2**62, 1]}),
}


@pytest.mark.parametrize("how", ["all", "managed"])
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_tensors(library, kinds, how, fault):
    error, words, said = FAULTS[fault]
    there = lend(kinds[how], SIX.copy(), **said)
    references = sys.getrefcount(there)
    with Counted(library) as asked:
        for take in (gm.copy, gm.from_dlpack, gm.to_device):
            with pytest.raises(error, match=words):
                take(there)
    assert asked.lent == 0 and sys.getrefcount(there) == references


def test_what_is_read_only_is_not_written(library, kinds):
    there = lend(kinds["all"], SIX.copy(), flags=1)
    with Counted(library) as asked, pytest.raises(BufferError, match=r"x is read-only.*copy=True"):
        gm.from_dlpack(there)
    assert asked.lent == 0
    with Counted(library) as asked:
        assert np.array_equal(gm.from_dlpack(there, copy=True).to_host(), SIX)
    assert asked.managed == 1 and asked.lent == 0
    assert np.array_equal(gm.copy(there), SIX)


@pytest.mark.parametrize("how", ["all", "managed"])
def test_negative_strides(library, kinds, how):
    """Functions take them, and from_dlpack where it may copy."""
    there = lend(kinds[how], SIX[::-1])
    with Counted(library) as asked:
        assert np.array_equal(gm.from_dlpack(there, copy=True).to_host(), SIX[::-1])
        assert np.array_equal(gm.copy(there), SIX[::-1])
        with pytest.raises(BufferError, match="negative stride in dimension 0"):
            gm.from_dlpack(there)
    assert asked.lent == 0


def test_other_kinds_of_device(library, kinds):
    for kind, name in ((dlpack.ROCM, "ROCm"), (99, "another")):
        there = lend(kinds["all"], SIX, device_type=kind)
        with Counted(library) as asked:
            with pytest.raises(ValueError, match=f"x is in {name}.*accepted are CUDA"):
                gm.from_dlpack(there)
            with pytest.raises(TypeError, match=f"{name}.* memory, here an array on the host"):
                gm.copy(there)
        assert asked.lent == 0
    with pytest.raises(TypeError, match="in CUDA memory, here an array on the host"):
        gm.to_device(lend(kinds["all"], SIX, device_type=dlpack.CUDA))


def test_cuda_memory_needs_a_gpu(library, kinds):
    if gm.info()["backends"]["cuda"]["available"]:
        pytest.skip("there is a GPU")
    there = lend(kinds["all"], SIX, device_type=dlpack.CUDA)
    with Counted(library) as asked:
        for call in (gm.copy, gm.from_dlpack):
            with pytest.raises(gm.UnavailableError, match=r"nvcc|NVIDIA|CUDA"):
                call(there)
    assert asked.lent == 0 and asked.tensors == asked.managed == 1


# ---- types --------------------------------------------------------------------------


def test_tables_that_cannot_be_used(library, dlpack_type):
    good = library.table()
    for table in (
        library.table(major=2),
        library.table(without="managed"),
        library.table(without="stream"),
        library.table(name="another"),
        library.table(major=2, previous=library.table(without="managed")),
        7,
        None,
    ):
        kind = type("Kind", (dlpack_type,), {API: table})
        assert not reads_by_the_api(kind)
    for table in (good, library.table(major=3, previous=library.table(major=2, previous=good))):
        assert reads_by_the_api(type("Kind", (dlpack_type,), {API: table}))


def test_a_chain_of_tables_that_has_no_end(library, dlpack_type):
    first = library.table(major=2)
    second = library.table(major=2, previous=first)
    address = dlpack.api.PyCapsule_GetPointer(first, b"dlpack_exchange_api")
    ctypes.c_void_p.from_address(address + 8).value = dlpack.api.PyCapsule_GetPointer(
        second, b"dlpack_exchange_api"
    )
    assert not reads_by_the_api(type("Kind", (dlpack_type,), {API: second}))


@pytest.mark.parametrize("name", ["__dlpack__", "__dlpack_device__", "__torch_dispatch__"])
def test_subclasses_have_the_last_word(library, dlpack_type, name):
    base = type("Base", (dlpack_type,), {API: library.table()})
    assert reads_by_the_api(type("Plain", (base,), {"more": 1}))
    below = type("Below", (base,), {name: getattr(dlpack_type, name, None)})
    assert not reads_by_the_api(below)
    assert not reads_by_the_api(type("Further", (below,), {}))
    assert reads_by_the_api(type("Again", (below,), {API: library.table()}))


def test_a_type_that_changes(library, dlpack_type):
    base = type("Base", (dlpack_type,), {})
    kind = type("Kind", (base,), {})
    assert not reads_by_the_api(kind)
    setattr(base, API, library.table())
    assert reads_by_the_api(kind)
    kind.__dlpack__ = dlpack_type.__dlpack__
    assert not reads_by_the_api(kind)
    del kind.__dlpack__
    assert reads_by_the_api(kind)
    delattr(base, API)
    assert not reads_by_the_api(kind)


def test_types_that_die(library):
    """Types at the addresses of dead ones say the opposite, and nobody keeps a type alive.

    In an interpreter that has started no thread: after that, Python 3.13 without a GIL frees no
    type any more.
    """
    code = """
        import gc, os, weakref
        from exchange_api_cases import API, load_library, make_dlpack_type, reads_by_the_api

        library = load_library(PATH)
        dlpack_type, table, addresses = make_dlpack_type(library), library.table(), set()
        gc.freeze()  # the collections below are then fast
        for i in range(500):
            kind = type("Kind", (dlpack_type,), {API: table} if i % 2 else {})
            assert reads_by_the_api(kind) == bool(i % 2)
            addresses.add(id(kind))
            alive = weakref.ref(kind)
            del kind
            gc.collect(0)
            if i % 50 == 0:
                gc.collect()
                assert alive() is None
        # AddressSanitizer keeps freed memory aside.
        assert len(addresses) < 500 or "asan" in os.environ.get("LD_PRELOAD", "")
    """
    python(code.replace("PATH", repr(library.__file__)))


def test_a_metaclass_that_raises(library):
    class Meta(type):
        def __getattribute__(cls, name):
            if name == API:
                raise ZeroDivisionError
            return super().__getattribute__(name)

    class Kind(library.Array, metaclass=Meta):
        pass

    for take in (gm.copy, gm.from_dlpack):
        with pytest.raises(ZeroDivisionError):
            take(lend(Kind, SIX))


def test_threads_read_arrays_at_once(library, kinds, dlpack_type):
    def work(number):
        kind = type("Kind", (dlpack_type,), {API: library.table()} if number % 2 else {})
        for _ in range(200):
            if reads_by_the_api(kind) != bool(number % 2):
                return False
            if not np.array_equal(gm.from_dlpack(lend(kinds["all"], SIX)).to_host(), SIX):
                return False
        return True

    assert all(at_once(8, work))


# ---- PyTorch's bits -----------------------------------------------------------------


@pytest.fixture
def lazy_type(library, dlpack_type):
    """A type whose arrays have PyTorch's attributes."""
    return type(
        "Lazy",
        (dlpack_type,),
        {
            API: library.table(),
            "requires_grad": False,
            "is_neg": lambda self: self.negated,
            "is_conj": lambda self: self.conjugated,
            "negated": False,
            "conjugated": False,
        },
    )


def test_what_pytorch_refuses_is_refused(library, lazy_type):
    def refuse(self, **keywords):
        raise BufferError("not this one")

    base = type("Base", (lazy_type,), {"__dlpack__": refuse, API: library.table()})
    numbers = (SIX + 1).astype("c8")
    assert np.array_equal(gm.copy(lend(base, numbers)), numbers)
    for said, error in (
        ({"requires_grad": True}, BufferError),
        ({"conjugated": True}, BufferError),
        ({"negated": True}, ValueError),
    ):
        there = lend(type("Said", (base,), said), numbers)
        with Counted(library) as asked:
            for take in (gm.copy, gm.from_dlpack):
                with pytest.raises(error, match=r"not this one|resolve_neg\(\)"):
                    take(there)
        assert asked.lent == 0
    real = lend(type("Said", (base,), {"conjugated": True}), SIX)  # conjugates of reals are reals
    assert np.array_equal(gm.copy(real), SIX)


NEGATED, CONJUGATED, WITH_GRADIENT, BROKEN = (1 << bit for bit in range(20, 24))


@pytest.fixture
def bits_type(library, dlpack_type):
    """A type that has PyTorch's attributes from C; __dlpack__ lends other elements."""
    return type("Bits", (library.Bits, dlpack_type), {API: library.table()})


def test_attributes_that_are_functions_of_c(bits_type):
    numbers = (SIX + 1).astype("c8")
    for _ in range(2):
        assert np.array_equal(gm.copy(lend(bits_type, numbers)), numbers)
        for flag in (CONJUGATED, WITH_GRADIENT):
            assert np.array_equal(gm.copy(lend(bits_type, numbers, flags=flag)), SIX)
        with pytest.raises(ValueError, match=r"resolve_neg\(\)"):
            gm.copy(lend(bits_type, numbers, flags=NEGATED))
        with pytest.raises(RuntimeError, match="no answer"):
            gm.copy(lend(bits_type, numbers, flags=BROKEN))


@pytest.mark.parametrize(
    "override",
    [
        {"is_neg": lambda self: True},
        {"__getattribute__": lambda self, name: name == "is_neg" and (lambda: True)},
    ],
    ids=lambda o: next(iter(o)),
)
def test_a_subclass_that_answers_itself_is_asked(bits_type, override):
    kind = type("Own", (bits_type,), {API: bits_type.__dict__[API], **override})
    with pytest.raises(ValueError, match="negative bit"):
        gm.copy(lend(kind, SIX))


def test_an_answer_that_changes_is_asked_for_again(bits_type):
    assert reads_by_the_api(bits_type)
    bits_type.is_neg = lambda self: True
    with pytest.raises(ValueError, match="negative bit"):
        gm.copy(lend(bits_type, SIX))
    del bits_type.is_neg
    bits_type.requires_grad = property(lambda self: True)
    assert not reads_by_the_api(bits_type)
    del bits_type.requires_grad
    assert reads_by_the_api(bits_type)


def test_functions_of_another_type_are_not_called(library, dlpack_type):
    theirs = {name: getattr(library.Bits, name) for name in ("is_neg", "is_conj", "requires_grad")}
    kind = type("Borrowed", (dlpack_type,), {API: library.table(), **theirs})
    with pytest.raises(TypeError, match="is_neg"):
        gm.copy(lend(kind, SIX))


def test_the_negative_bit_is_refused_by_dlpack_too(dlpack_type):
    said = {"is_neg": lambda self: True, "is_conj": lambda self: False, "requires_grad": False}
    for take in (gm.copy, gm.from_dlpack):
        with pytest.raises(ValueError, match="negative bit"):
            take(lend(type("Negated", (dlpack_type,), said), SIX))


def test_attributes_that_mean_something_else(library):
    kind = type("Signs", (library.Array,), {API: library.table(), "is_neg": lambda self: SIX < 0})
    assert np.array_equal(gm.copy(lend(kind, SIX)), SIX)
