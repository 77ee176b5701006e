"""What the driver's errors become, without a driver."""

import enum
from types import SimpleNamespace

import pytest

import gpumem as gm
from gpumem.modules.driver import Driver


class CUresult(enum.IntEnum):
    """Some of the driver's, with its numbers."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_INVALID_HANDLE = 400


def raise_error(*_, **__):
    raise RuntimeError(f"{raise_error.name}: as cuda-core says it")


@pytest.fixture(params=["CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_INVALID_HANDLE"])
def driver(request):
    """A driver whose calls, and cuda-core's, fail with this error."""
    made = Driver.__new__(Driver)
    error = CUresult[request.param]
    made.api = SimpleNamespace(
        CUresult=CUresult,
        cuGetErrorString=lambda error: (CUresult.CUDA_SUCCESS, b"what it means"),
        cuArray3DCreate=lambda what: (error, None),
    )
    raise_error.name = request.param
    made._core = SimpleNamespace(
        Device=lambda: SimpleNamespace(set_current=lambda: None),
        ObjectCode=SimpleNamespace(from_cubin=raise_error),
    )
    made.memory = error == CUresult.CUDA_ERROR_OUT_OF_MEMORY
    return made


def test_out_of_memory_is_a_memory_error(driver):
    with pytest.raises(gm.CudaError, match=r"cuArray3DCreate failed: what it means") as caught:
        driver._do("cuArray3DCreate", None)
    assert isinstance(caught.value, MemoryError) == driver.memory
    assert caught.value.name == raise_error.name and not caught.value.sticky


@pytest.mark.parametrize("late", [False, True])
def test_also_where_cuda_core_says_so(driver, late):
    library = SimpleNamespace(get_kernel=raise_error)
    with pytest.raises(RuntimeError, match=r"what it means|as cuda-core says it") as caught:
        driver.kernel(library, "scale") if late else driver.load(b"", "scale.cu")
    assert isinstance(caught.value, MemoryError) == driver.memory


def test_also_where_the_context_finds_no_memory(driver):
    driver._core.Device = raise_error
    with pytest.raises(RuntimeError) as caught:
        driver.load(b"", "scale.cu")
    assert isinstance(caught.value, MemoryError) == driver.memory
