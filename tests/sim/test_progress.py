"""Spins let other lanes, warps and blocks run; a spin that never ends is an error."""

from __future__ import annotations

import signal
import threading

import numpy as np
import pytest
from loading import load

from gpumem import _core

SOURCE = r"""
typedef volatile int *flags;
#define __nanosleep(nanoseconds) gm_sim_yield(__FILE__, __LINE__)

__global__ void later_lane(int *flag, int *out)
{
    if (threadIdx.x % 32 == 0) {
        while (((flags)flag)[threadIdx.x / 32] == 0);
        out[threadIdx.x] = 1;
    }
    if (threadIdx.x % 32 == 31) {
        ((flags)flag)[threadIdx.x / 32] = 1;
    }
}

__global__ void later_warp(int *flag, int *out)
{
    if (threadIdx.x < 32) {
        while (*(flags)flag == 0);
        out[threadIdx.x] = 1;
    } else if (threadIdx.x == blockDim.x - 1) {
        *(flags)flag = 1;
    }
}

__global__ void next_block(int *flag, int *out)
{
    if (threadIdx.x == 0) {
        if (blockIdx.x + 1 < gridDim.x) {
            while (((flags)flag)[blockIdx.x + 1] == 0);
        }
        ((flags)flag)[blockIdx.x] = 1;
        out[blockIdx.x] = 1;
    }
}

// Late lanes of the first warp come to the shuffle when the second warp has had its own.
__global__ void late_to_a_shuffle(int *flag, int *out)
{
    if (threadIdx.x >= 16 && threadIdx.x < 32) {
        while (*(flags)flag == 0);
    }
    out[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1 + (int)threadIdx.x, 31);
    if (threadIdx.x == blockDim.x - 1) {
        *(flags)flag = 1;
    }
}

// What is in shared memory outlives the turns of other blocks.
__global__ void all_wait_for_the_last_block(int *flag, int *out)
{
    __shared__ int mine[64];
    extern __shared__ int dynamic[];
    mine[threadIdx.x] = blockIdx.x * 64 + threadIdx.x;
    dynamic[threadIdx.x] = -mine[threadIdx.x];
    __syncthreads();
    if (blockIdx.x < gridDim.x - 1) {
        while (*(flags)flag == 0);
    } else if (threadIdx.x == 0) {
        *(flags)flag = 1;
    }
    __syncthreads();
    int other = 63 - threadIdx.x;
    out[blockIdx.x * 64 + threadIdx.x] = mine[other] - dynamic[other];
}

__global__ void ticket(int *lock, int *out)
{
    int mine = atomicAdd(&lock[0], 1);
    while (atomicAdd(&lock[1], 0) != mine) {
        __nanosleep(20);
    }
    __threadfence();
    out[0] += 1;
    __threadfence();
    atomicAdd(&lock[1], 1);
}

__global__ void barrier_of_the_grid(int *arrived, int *out)
{
    __shared__ int ours;
    if (threadIdx.x == 0) {
        ours = blockIdx.x;
        out[gridDim.x + blockIdx.x] = blockIdx.x;
        __threadfence();
        atomicAdd(arrived, 1);
        while (atomicAdd(arrived, 0) < gridDim.x);
        __threadfence();
        int sum = ours - blockIdx.x;
        for (int i = 0; i < gridDim.x; i++) {
            sum += out[gridDim.x + i];
        }
        out[blockIdx.x] = sum;
    }
}

__global__ void cooperative(int *rounds, int *out)
{
    int me = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    out[me] = me;
    for (int round = 0; round < 3; round++) {
        gm_sim_grid_barrier(__FILE__, __LINE__);
        int next = out[(me + 1) % all];
        gm_sim_grid_barrier(__FILE__, __LINE__);
        out[me] = next;
    }
}

__global__ void not_all_blocks(int *rounds, int *out)
{
    if (blockIdx.x != 2) {
        gm_sim_grid_barrier(__FILE__, __LINE__);
    }
}

__global__ void never(int *flag, int *out)
{
    if (blockIdx.x == 1 && threadIdx.x == 33) {
        while (*(flags)flag == 0);
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

__global__ void lock_without_unlock(int *lock, int *out)
{
    while (atomicCAS(lock, 0, 1) != 0);
    out[threadIdx.x] = 1;
}

__global__ void waits_while_others_meet(int *flag, int *out)
{
    if (threadIdx.x == 0) {
        while (*(flags)flag == 0);
    }
    __syncthreads();
    *(flags)flag = 1;
}

__global__ void asleep(int *flag, int *out)
{
    while (*(flags)flag == 0) {
        __nanosleep(1000);
    }
}

__global__ void empty_loop(int *flag, int *out)
{
    out[0] = 1;
    if (*flag == 0) {
        for (;;) {
            asm volatile("");
        }
    }
}

__global__ void tries_often(int *flag, int *out)
{
    int tries = 0;
    while (*(flags)flag == 0 && tries < 100000) {
        tries++;
    }
    out[threadIdx.x] = tries;
}

__global__ void counts(int *flag, int *out)
{
    unsigned n = 1;
    do {
        n = n * 1664525u + 1013904223u;
        asm volatile("" : "+r"(n));
    } while (n != 1);
    out[0] = n;
}

// The spinning thread hands on a value that it has not set, to nobody, and then reads an index.
__device__ __noinline__ unsigned read(const unsigned *index)
{
    asm volatile("" : "+r"(index));
    return *index;
}

__global__ void spin_hands_on_unset(int *flag, int *out, int spinner)
{
    int unset, rounds = 0;
    if (out[1] == 1) {
        unset = 1;
    }
    if (threadIdx.x == spinner) {
        while (*(flags)flag == 0) {
            __shfl_sync(1u << spinner, unset, spinner);
            rounds += 1 + read(&blockIdx.x);
        }
        out[0] = rounds;
    } else if (threadIdx.x == 63) {
        *(flags)flag = 1;
    }
}
"""


@pytest.fixture(scope="module")
def module():
    return load(source=SOURCE, name="spins.cu")


@pytest.fixture(params=["plain", "traced"])
def launch(request, module):
    """Run a kernel; return flags and results."""

    def run(kernel, grid, block, **options):
        flag, out = np.zeros(4096, np.int32), np.zeros(1 << 16, np.int32)
        if request.param == "plain":
            module.run(kernel, grid, block, (flag, out), **options)
        else:
            module.traffic(kernel, grid, block, (flag, out), **options)
        return flag, out

    run.traced = request.param == "traced"
    return run


# ---- spins that end ---------------------------------------------------------------------------


def test_lanes_that_are_late_to_a_shuffle_find_what_their_own_warp_gave(launch):
    _, out = launch("late_to_a_shuffle", 1, 96)
    threads = np.arange(96)
    assert np.array_equal(out[:96], 1 + (threads ^ 31))


def test_on_a_later_lane(launch):
    assert launch("later_lane", 1, 128)[1].sum() == 4


def test_on_a_later_warp(launch):
    assert launch("later_warp", 1, 1024)[1].sum() == 32


@pytest.mark.parametrize("blocks", [2, 50])
def test_on_the_next_block(launch, blocks):
    assert launch("next_block", blocks, 64)[1].sum() == blocks


def test_shared_memory_of_blocks_in_flight(launch):
    _, out = launch("all_wait_for_the_last_block", 9, 64, shared_bytes=256)
    mirrored = np.arange(9 * 64).reshape(9, 64)[:, ::-1].ravel()
    assert np.array_equal(out[: 9 * 64], 2 * mirrored)


def test_locks(launch):
    assert launch("ticket", 4, 96)[1][0] == 4 * 96


@pytest.mark.parametrize("blocks", [1, 2, 40])
def test_barrier_of_the_grid(launch, blocks):
    assert np.array_equal(
        launch("barrier_of_the_grid", blocks, 64)[1][:blocks],
        np.full(blocks, blocks * (blocks - 1) // 2),
    )


@pytest.mark.parametrize("blocks", [1, 2, 33])
def test_cooperative_launches(launch, blocks):
    _, out = launch("cooperative", blocks, 96, cooperative=True)
    assert np.array_equal(out[: blocks * 96], (np.arange(blocks * 96) + 3) % (blocks * 96))


def test_barriers_of_the_grid_need_a_cooperative_launch(launch):
    with pytest.raises(_core.SimulationError, match="launch is not cooperative"):
        launch("cooperative", 2, 96)
    with pytest.raises(_core.SimulationError, match="of 265 blocks, of which at most 264 can"):
        launch("cooperative", 265, 1024, cooperative=True)


def test_barriers_of_the_grid_that_not_all_blocks_reach(launch):
    with pytest.raises(_core.SimulationError, match="that not all blocks reach") as caught:
        launch("not_all_blocks", 4, 32, cooperative=True)
    assert caught.value.block == (0, 0, 0)


def test_a_spin_that_gives_up(launch):
    assert np.array_equal(launch("tries_often", 1, 4)[1][:4], np.full(4, 100000))


def test_counts_are_the_same_every_time(module):
    def run():
        flag, out = np.zeros(64, np.int32), np.zeros(64, np.int32)
        return module.traffic("next_block", 20, 64, (flag, out))["sites"]

    assert run() == run()


def test_a_look_sees_all_accesses_of_each_thread(module):
    """When a thread gives way depends on its accesses, and not on which thread it is."""

    def rounds(spinner):
        flag, out = np.zeros(64, np.int32), np.zeros(64, np.int32)
        module.traffic("spin_hands_on_unset", 1, 64, (flag, out, spinner))
        return out[0]

    assert rounds(0) == rounds(1) == rounds(31)


# ---- spins without end ------------------------------------------------------------------------


def line_of(text):
    return 1 + next(i for i, line in enumerate(SOURCE.splitlines()) if text in line)


@pytest.mark.parametrize(
    ("kernel", "grid", "block", "place", "text"),
    [
        ("never", 3, 64, ((1, 0, 0), (33, 0, 0)), None),
        ("lock_without_unlock", 1, 64, ((0, 0, 0), (1, 0, 0)), "while (atomicCAS(lock"),
        ("waits_while_others_meet", 1, 64, ((0, 0, 0), (0, 0, 0)), None),
        ("asleep", 2, 32, ((0, 0, 0), (0, 0, 0)), "__nanosleep(1000)"),
    ],
)
def test_without_end(launch, kernel, grid, block, place, text):
    with pytest.raises(_core.SimulationError, match="a spin that never ends") as caught:
        launch(kernel, grid, block)
    assert caught.value.kernel == kernel
    if not (launch.traced and text):  # of several threads any may be named
        assert (caught.value.block, caught.value.thread) == place
    if launch.traced:
        assert "spins.cu" in caught.value.file
        assert text is None or caught.value.line == line_of(text)


def test_loop_without_accesses(launch):
    with pytest.raises(_core.SimulationError, match="never ends") as caught:
        launch("empty_loop", 1, 1)
    assert not launch.traced or caught.value.file == "spins.cu"


def test_on_a_block_that_cannot_be_resident(launch):
    with pytest.raises(_core.SimulationError, match="at most 264 can be resident") as caught:
        launch("next_block", 300, 1024)
    assert caught.value.block == (0, 0, 0)


@pytest.mark.parametrize("kernel", ["counts", "asleep"])
def test_can_be_interrupted(launch, kernel):
    """Also a kernel that calls nothing and accesses nothing."""
    running = True

    def interrupt(*_):
        if running:  # a late one must not end another test
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupt)
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        with pytest.raises((KeyboardInterrupt, _core.SimulationError)):
            try:
                launch(kernel, 1, 32)
            finally:
                running = False
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)


def test_signals_of_others_reach_their_handlers(module):
    seen = []
    before = signal.signal(signal.SIGURG, lambda *_: seen.append(1))
    try:
        flag, out = np.zeros(64, np.int32), np.zeros(4096, np.int32)
        module.run("next_block", 4, 64, (flag, out))
        signal.raise_signal(signal.SIGURG)
        assert seen == [1]
    finally:
        signal.signal(signal.SIGURG, before)
