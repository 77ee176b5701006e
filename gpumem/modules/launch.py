"""A kernel with a grid, ready to be called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .observed import observe

if TYPE_CHECKING:
    from .kernel import Kernel

__all__ = ["Launch"]


class Launch:
    """A kernel with the size of its grid: ``kernel[grid, block]``. Call it to run the kernel.

    Attributes
    ----------
    kernel : Kernel
        What runs.
    grid, block : tuple of int
        Blocks, and threads per block, in x, y and z.
    stream : Stream or None
        In which the kernel is queued.
    shared_bytes : int
        Dynamic shared memory per block, in bytes.
    cooperative : bool
        Whether the blocks may wait for each other at a barrier of the grid.
    cluster : tuple of int
        Blocks per cluster, in x, y and z.

    Examples
    --------
    >>> import gpumem as gm
    >>> m = gm.load(source="__global__ void nothing() {}")
    >>> m["nothing"][2, (8, 4)]
    <nothing: grid 2 x 1 x 1, block 8 x 4 x 1>
    """

    def __init__(
        self,
        kernel: Kernel,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        stream: Any = None,
        shared_bytes: int = 0,
        cooperative: bool = False,
        cluster: tuple[int, int, int] = (1, 1, 1),
    ) -> None:
        self.kernel = kernel
        self.grid = grid
        self.block = block
        self.stream = stream
        self.shared_bytes = shared_bytes
        self.cooperative = cooperative
        self.cluster = cluster
        self.demands = shared_bytes > 0 or cluster != (1, 1, 1)  # more than any kernel may have

    def __call__(self, *args: Any) -> None:
        """Run the kernel.

        Parameters
        ----------
        *args
            One for each parameter. For a pointer an ndarray, which is copied to the device and,
            unless the parameter points to const, back; a DeviceArray or an array of another
            library (PyTorch, CuPy, Numba, …), whose memory the kernel gets as it is; or None for a
            null pointer. For a struct a NumPy scalar or bytes. For a texture or surface object
            what :func:`texture` or :func:`surface` returns.

        Raises
        ------
        TypeError, ValueError
            If an argument does not fit its parameter; the message names it. Nothing has run.
        SimulationError
            If the kernel did what no kernel may do; host arrays are as they were.
        CudaError
            If the GPU does not take the launch. What fails in the kernel itself is an error of a
            later call.

        Notes
        -----
        On a GPU the call returns when the kernel is queued, unless there are arrays of the host.
        """
        self.kernel.module.side.call(self, args)

    def observe(self, args: tuple[Any, ...], all_findings: bool = False) -> dict[str, Any]:
        """Run the kernel on the simulator under observation; return what was counted.

        With `all_findings` the answer lists what is wrong; without, SimulationError is raised at
        the first that is. Of a module on a GPU the simulator gets copies, and what it wrote is
        copied back.

        Examples
        --------
        >>> import gpumem as gm
        >>> m = gm.load(source="__device__ int x; __global__ void k() { x = 1; }")
        >>> m["k"][1, 1].observe(())["sites"][0]["kind"]
        'store'
        """
        return observe(self, args, all_findings)

    def __repr__(self) -> str:
        grid, block = (" x ".join(map(str, one)) for one in (self.grid, self.block))
        return f"<{self.kernel.name}: grid {grid}, block {block}>"
