"""Run on every rank by test_distributed.py: program.py mpi|gloo|nccl SCENARIO[+...] [SEED]."""

import os
import signal
import sys
import traceback

import numpy as np

import gpumem as gm
import gpumem.distributed as gmd
from gpumem.distributed import products as shared_products
from gpumem.distributed.engines import find_engine
from gpumem.distributed.partial_products import PartialSums
from gpumem.distributed.product_plan import ways as possible

TIMEOUT = 20  # seconds, of torch.distributed
DTYPES = ("u1", "f2", "S3", "<f4", ">f4", "f8", "S12", "c16", [("small", "u1"), ("large", "f8")])


def whole_array(random, shape, dtype):
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    return random.integers(1, 255, size, np.uint8).view(dtype).reshape(shape)


def same(a, b):
    a, b = (np.ascontiguousarray(x).view(f"V{x.dtype.itemsize}") for x in (a, b))
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def on_host(x):
    if isinstance(x, gm.DeviceArray):
        return x.to_host()
    return x if isinstance(x, np.ndarray) else x.cpu().numpy()


def tensor(a):
    """Return a tensor, on the GPU if there is one."""
    import torch

    made = torch.from_numpy(np.ascontiguousarray(a))
    return made.cuda() if torch.cuda.is_available() else made


def sharings(random, shape, ranks):
    """Return every way to share the shape out."""
    found = [gmd.OnRank(int(random.integers(ranks))), gmd.Whole()]
    for axis in range(len(shape)):
        at = np.sort(random.integers(0, shape[axis] + 1, ranks - 1))
        counts = np.diff(np.concatenate(([0], at, [shape[axis]]))).tolist()
        found += [gmd.Split(axis), gmd.Split(axis - len(shape), counts)]
    if len(shape) > 1:
        found += [gmd.Blocks(n, ranks // n) for n in range(1, ranks + 1) if ranks % n == 0]
    return found


def part(a, box):
    return a[tuple(slice(*one) for one in box)]


def packed(engine, comm, seed, kinds):
    """The same as between hosts, which share no memory."""
    engine.peers = engine._board = engine._marks = None
    moves(engine, comm, seed, kinds)


def direct(engine, comm, seed, kinds):
    """The same with kernels that write to the other GPUs' results."""
    assert None not in (engine.peers, engine._board, engine._marks)
    moves(engine, comm, seed, kinds)
    many_tiles(engine, comm, seed)


def unmarked(engine, comm, seed, kinds):
    """The same, where ranks cannot wait for each other's events."""
    engine._marks = None
    moves(engine, comm, seed, kinds)
    many_tiles(engine, comm, seed)


def many_tiles(engine, comm, seed):
    """Matrices of many tiles, turned right after one another."""
    for dtype in ("u1", "f2", "f4", "f8", "c16"):
        a = whole_array(np.random.default_rng(seed), (1501, 2112), dtype)
        x = gmd.scatter(tensor(a) if engine.rank == 0 else None, comm)
        assert same(on_host(gmd.gather(gmd.transpose(x), None)), a.T), dtype


def moves(engine, comm, seed, kinds):
    """Random arrays go from one sharing to another, and are right to the byte."""
    random = np.random.default_rng(seed)
    for case in range(40):
        kind = kinds[case % len(kinds)]
        ndim = int(random.integers(1, 5))
        shape = tuple(random.integers(0 if case % 5 == 0 else 1, 14, ndim).tolist())
        dtype = DTYPES[random.integers(len(DTYPES))] if kind == "ndarray" else "f4"
        a = whole_array(random, shape, dtype)
        axes = tuple(random.permutation(ndim).tolist())
        root = int(random.integers(engine.ranks))
        engine.piece_bytes = int(random.choice([64, 600, 1 << 20]))
        if hasattr(engine, "_most"):
            engine._most = int(random.choice([50, 2**31 - 1]))
        ways = sharings(random, shape, engine.ranks)
        source = ways[random.integers(len(ways))]
        held = a if engine.rank == root else None
        if held is not None and kind == "DeviceArray":
            held = gm.to_device(held)
        elif held is not None and kind == "Tensor":
            held = tensor(held)
        x = gmd.scatter(held, comm, root=root, to=source)
        assert type(x.local).__name__ == kind, (type(x.local), kind)
        assert same(on_host(x.local), part(a, x.box)), (case, source, "scatter")

        b = a.transpose(axes)
        ways = sharings(random, b.shape, engine.ranks)
        target = ways[random.integers(len(ways))]
        y = gmd.permute(x, axes, to=target)
        assert y.shape == b.shape and y.dtype == x.dtype
        assert same(on_host(y.local), part(b, y.box)), (case, shape, axes, source, target)

        back = gmd.gather(gmd.copy(y), root)
        assert (back is None) == (engine.rank != root)
        assert back is None or same(on_host(back), b), (case, "gather")
        if ndim > 1:
            t = gmd.gather(gmd.transpose(y), None)
            assert same(on_host(t), b.swapaxes(-1, -2)), (case, "transpose")


def around(engine, comm, _seed, _kinds):
    """What each rank has, of any layout and any number of rows."""
    rows = 3 * engine.rank  # none on rank 0
    whole = np.arange(sum(3 * r for r in range(engine.ranks)) * 5, dtype="f8").reshape(-1, 5)
    first = sum(3 * r for r in range(engine.rank))
    local = np.asfortranarray(whole[first : first + rows])
    x = gmd.Rows(local, comm)
    assert x.local is local and x.shape == whole.shape, x
    assert same(gmd.gather(gmd.transpose(x), None), whole.T)
    assert same(gmd.gather(x, None), whole)
    y = gmd.Columns(local.T, comm)
    assert y.shape == whole.T.shape and same(gmd.gather(y, None), whole.T)


def expect(kinds, text, function, *args, **keywords):
    try:
        function(*args, **keywords)
    except kinds as error:
        assert text in str(error), f"{error!r} does not say {text!r}"
        return error
    raise AssertionError(f"no error, expected {text!r}")


def refusals(engine, comm, _seed, _kinds):
    """A wrong argument on one rank is an error on all of them, and the next call works."""
    last = engine.ranks - 1
    wrong = engine.rank == last
    x = gmd.scatter(np.arange(12.0).reshape(3, 4) if engine.rank == 0 else None, comm)

    kinds = ValueError if wrong else gmd.RankError
    for bad in ((0, 0), (0,), (0, 5)):
        expect(kinds, "no permutation", gmd.permute, x, bad if wrong else (1, 0))
    expect(kinds, "there is no rank 99", gmd.copy, x, to=gmd.OnRank(99 if wrong else 0))
    expect(kinds, "does not fit", gmd.copy, x, to=gmd.Blocks(7 if wrong else engine.ranks, 1))
    expect(kinds, "add up to 3", gmd.copy, x, to=gmd.Split(0, [9]) if wrong else gmd.Split(0))
    expect(kinds, "there is no rank", gmd.scatter, x.local, comm, root=-1 if wrong else 0)
    whole = gmd.Whole()  # which has no axis to refuse
    expect(kinds, "a has shape ()", gmd.scatter, np.array(3.0), comm, root=last, to=whole)
    kinds = TypeError if wrong else gmd.RankError
    expect(kinds, "to must be", gmd.copy, x, to=3 if wrong else gmd.Split(1))
    expect(kinds, "axes must be", gmd.permute, x, "01" if wrong else (0, 1))
    expect(kinds, "must be an ndarray", gmd.Rows, [1, 2] if wrong else np.zeros(2), comm)
    bad = np.zeros(2, object) if wrong else np.zeros(2)
    expect(kinds, "refer to Python objects", gmd.Rows, bad, comm)

    if engine.ranks > 1:
        error = expect(gmd.RankError, "calls", gmd.permute, x, (0, 1) if wrong else (1, 0))
        assert engine.ranks == 2 or error.rank == last  # of two, either may be the wrong one
        local = np.zeros((2, 3 if wrong else 4))
        error = expect(gmd.RankError, f"rank {last} brings", gmd.Rows, local, comm)
        assert error.rank == last
        local = np.zeros((2, 4), "f4" if wrong else "f8")
        expect(gmd.RankError, f"rank {last} brings", gmd.Rows, local, comm)
    expect(TypeError, "x must be shared out", gmd.transpose, np.zeros((2, 2)))
    assert same(gmd.gather(gmd.transpose(x), None), np.arange(12.0).reshape(3, 4).T)


def products(engine, comm, seed, kinds):
    """Products with a factor that is whole on each rank, or shared out in any way."""
    random = np.random.default_rng(seed)
    for case in range(4):
        m, k, n = (int(random.integers(1, 40)) for _ in range(3))
        n += 1100 if case % 4 == 0 else 0  # three groups of columns
        engine.piece_bytes = 1
        # Small whole numbers: every order of the sums gives the same.
        a, b = (random.integers(-8, 9, s).astype("f4") for s in ((m, k), (k, n)))
        for kind in kinds:
            make = {"ndarray": np.asarray, "DeviceArray": gm.to_device, "Tensor": tensor}[kind]
            first = sharings(random, a.shape, engine.ranks)
            x = gmd.scatter(make(a), comm, to=first[random.integers(len(first))])
            whole = gmd.gather(gmd.matmul(x, make(b)), None)
            assert (on_host(whole) == a @ b).all(), (case, kind, "whole")
            ways = sharings(random, b.shape, engine.ranks)
            for way in (gmd.Split(0), ways[random.integers(len(ways))], ways[3]):
                w = gmd.scatter(make(b), comm, to=way)
                y = gmd.matmul(x, w)
                assert type(y.local).__name__ == kind
                assert (on_host(gmd.gather(y, None)) == a @ b).all(), (case, kind, way)
    deep_products(engine, comm, random, kinds)
    x = gmd.Rows(np.zeros((1, 3), "f4"), comm)
    wrong = engine.rank == engine.ranks - 1
    kinds = ValueError if wrong else gmd.RankError
    expect(kinds, "no m x k and k x n", gmd.matmul, x, np.zeros((2 if wrong else 3, 1), "f4"))
    kinds = TypeError if wrong else gmd.RankError
    expect(
        kinds, "products are of float32", gmd.matmul, x, np.zeros((3, 1), "f8" if wrong else "f4")
    )


def deep_products(engine, comm, random, kinds):
    """Both factors are shared out along the depth, so that partial sums are added."""
    taken = []
    run = PartialSums.run
    PartialSums.run = lambda self: (taken.append(self.groups()), run(self))
    for m, n, more in ((7, 5, 90), (1, 1300, 3000), (engine.ranks, 1, 10)):
        counts = random.integers(0, 50, engine.ranks) + more
        a = random.integers(-8, 9, (m, int(counts.sum()))).astype("f4")
        b = random.integers(-8, 9, (a.shape[1], n)).astype("f4")
        end = int(counts[: engine.rank + 1].sum())
        mine = slice(end - int(counts[engine.rank]), end)
        for kind in kinds:
            make = {"ndarray": np.asarray, "DeviceArray": gm.to_device, "Tensor": tensor}[kind]
            x, w = gmd.Columns(make(a[:, mine].copy()), comm), gmd.Rows(make(b[mine]), comm)
            y = gmd.matmul(x, w)
            assert type(y.local).__name__ == kind
            assert (on_host(gmd.gather(y, None)) == a @ b).all(), (m, n, kind)
            assert y.boxes == gmd.Split(0).boxes((m, n), engine.ranks)
    PartialSums.run = run
    groups = [1] * len(kinds) + [3] * len(kinds) + [1] * len(kinds)
    assert taken == (groups if engine.ranks > 1 else []), taken


def ways(engine, comm, seed, kinds):
    """Each way to compute a product, whichever moves least, with sides that may be 0."""
    random = np.random.default_rng(seed)
    choose, engine.piece_bytes = shared_products.choose, 1
    for case, sides in enumerate(
        ((5, 1100, 3), (9, 1, 1), (0, 4, 3), (3, 0, 7), (3, 4, 0), (13, 60, 5))
    ):
        m, k, n = sides
        if hasattr(engine, "_most"):
            engine._most = 50 if case % 2 else 2**31 - 1
        a, b = (random.integers(-8, 9, s).astype("f4") for s in ((m, k), (k, n)))
        kind = kinds[case % len(kinds)]
        make = {"ndarray": np.asarray, "DeviceArray": gm.to_device, "Tensor": tensor}[kind]
        named, found = set(), []
        lefts, rights, results = (
            sharings(random, s, engine.ranks) for s in (a.shape, b.shape, (m, n))
        )
        x = gmd.scatter(make(a), comm, to=lefts[random.integers(len(lefts))])
        w = gmd.scatter(make(b), comm, to=rights[random.integers(len(rights))])
        to = results[random.integers(len(results))]
        shared_products.choose = lambda *given, found=found: (
            found.extend(possible(*given)) or found[0]
        )
        y = gmd.matmul(x, w, to=to)
        assert y.boxes == to.boxes((m, n), engine.ranks) and y.replicated == (to == gmd.Whole())
        assert (on_host(y.local) == part(a @ b, y.box)).all(), sides
        for way in tuple(found):
            shared_products.choose = lambda *_, way=way: way
            y = gmd.matmul(x, w, to=to)
            assert type(y.local).__name__ == kind
            assert (on_host(y.local) == part(a @ b, y.box)).all(), (sides, way)
            named.add(way.name)
        assert engine.ranks == 1 or {"rows", "grid"} <= named
    shared_products.choose = choose


def dtensors(engine, _comm, seed, _kinds):
    """Tensors that PyTorch has shared out, also unevenly and with ranks that hold nothing."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    random = np.random.default_rng(seed)
    mesh = init_device_mesh(tensor(np.zeros(1)).device.type, (engine.ranks,))
    for m, k, n in ((7, 1100, 5), (1, 4, 9), (64, 3, 48)):
        a, b = (random.integers(-8, 9, s).astype("f4") for s in ((m, k), (k, n)))
        whole, other = tensor(a), tensor(b)
        rows = gmd.Rows(distribute_tensor(whole, mesh, [Shard(0)]))
        columns = gmd.Columns(distribute_tensor(whole, mesh, [Shard(1)]))
        w = gmd.Rows(distribute_tensor(other, mesh, [Shard(0)]))
        assert rows.shape == columns.shape == a.shape
        for x in (rows, columns):
            assert same(on_host(gmd.gather(gmd.transpose(x), None)), a.T), (m, k)
            y = gmd.matmul(x, w)
            assert type(y.local).__name__ == "Tensor"
            assert (on_host(gmd.gather(y, None)) == a @ b).all(), (m, k, n)
    for way, placements in ((gmd.Rows, [Shard(1)]), (gmd.Columns, [Replicate()])):
        expect(ValueError, "expected one, Shard", way, distribute_tensor(whole, mesh, placements))


def until_told(engine, x):
    """Transpose until the engine fails; print what it said."""
    try:
        while True:
            gmd.transpose(x)
    except gmd.RankError as error:
        print(f"rank {engine.rank} was told of {error.rank}: {error}", flush=True)
        os._exit(3)


def killed(engine, comm, _seed, _kinds):
    """The last rank dies; the others end with an error, as far as the engine lets them."""
    x = gmd.Rows(np.zeros((64, 64)), comm)
    if engine.rank == engine.ranks - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    until_told(engine, x)


def silent(engine, comm, _seed, _kinds):
    """The last rank stops to answer; the others end with an error after the engine's timeout."""
    x = gmd.Rows(np.zeros((64, 64)), comm)
    if engine.rank == engine.ranks - 1:
        signal.pause()
    until_told(engine, x)


def main():
    name, scenario, *seed = sys.argv[1:]
    if name in ("gloo", "nccl"):
        import datetime

        import torch
        import torch.distributed as dist

        if name == "nccl":
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group(name, timeout=datetime.timedelta(seconds=TIMEOUT))
        comm, kinds = dist.group.WORLD, ("ndarray", "Tensor", "DeviceArray")
    else:
        from mpi4py import MPI

        comm, kinds = MPI.COMM_WORLD, ("ndarray", "DeviceArray")
    engine = find_engine(comm)
    assert find_engine() is engine and find_engine(comm) is engine
    for one in scenario.split("+"):
        globals()[one](engine, comm, int(seed[0]) if seed else 0, kinds)
    engine.barrier()
    print(f"rank {engine.rank} of {engine.ranks} is done", flush=True)
    if name != "mpi":
        dist.destroy_process_group()


if __name__ == "__main__":
    try:
        main()
    except Exception:
        if "mpi4py.MPI" not in sys.modules:
            raise
        traceback.print_exc()  # the other ranks would wait for this one
        sys.modules["mpi4py.MPI"].COMM_WORLD.Abort(1)
