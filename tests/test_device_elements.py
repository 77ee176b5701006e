"""gpumem.DeviceArray among NumPy's arrays: elements, shapes, flags, copies, pickle, weakref."""

import copy
import gc
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest

import gpumem as gm
from gpumem import _core

CUBE = np.arange(2 * 3 * 4, dtype="f4").reshape(2, 3, 4)
VIEWS = {
    "whole": lambda a: a,
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::-1, ::-1],
    "sliced": lambda a: a[:, 1:, ::2],
    "none": lambda a: a[:, 3:],
}


@pytest.fixture
def cube(backend):
    return gm.to_device(CUBE, backend=backend)


class ReadOnly:
    """The memory of an array, lent as another library's that must not be written to."""

    def __init__(self, array):
        interface = dict(array.__cuda_array_interface__)
        interface["data"] = (array.pointer, True)
        self.__cuda_array_interface__ = interface
        self.array = array


@pytest.fixture
def lent():
    there = _core.adopt(ReadOnly(gm.to_device(CUBE, backend="cuda")), "x", None)
    assert not there.writeable
    return there


def same(there, here):
    assert type(there) is gm.DeviceArray
    assert (there.shape, there.dtype) == (here.shape, here.dtype)
    assert there.to_host().tobytes() == here.tobytes()


# ---- elements ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "index", [(0,), (23,), (-24,), (np.int8(5),), (1, 2, 3), (-1, -3, 0), ((0, 1, 2),)], ids=str
)
@pytest.mark.parametrize("view", ["whole", "transposed", "reversed"])
def test_item(index, view, cube):
    here, there = VIEWS[view](CUBE), VIEWS[view](cube)
    wanted = [np.ravel(here)[index[0]]] if len(index) == 1 and np.ndim(index[0]) == 0 else None
    try:
        wanted = wanted or [here.item(*index)]
    except IndexError:  # beyond this view
        with pytest.raises(IndexError, match="out of bounds"):
            there.item(*index)
        return
    assert there.item(*index) == wanted[0] and type(there.item(*index)) is float


@pytest.mark.parametrize(
    "value", [True, 7, -1.5, 2 - 3j, np.datetime64("2026-01-02"), b"abc", "é"], ids=str
)
def test_item_and_tolist_are_of_pythons_types(value, backend):
    for shape in [(), (1,), (1, 1)]:
        here = np.full(shape, value)
        there = gm.to_device(here, backend=backend)
        assert there.item() == here.item() and type(there.item()) is type(here.item())
        assert there.tolist() == here.tolist()
        assert there.item(0) == there.item(*[-1] * max(1, len(shape))) == here.item()


def test_item_of_a_structure(backend):
    here = np.array([(1, 2.5), (3, 4.5)], [("a", "i4"), ("b", "f8")])
    there = gm.to_device(here, backend=backend)
    assert there.item(1) == (3, 4.5) and there["b"].item(-2) == 2.5


@pytest.mark.parametrize(
    ("index", "error", "words"),
    [
        ((), ValueError, "array of 24 elements takes one index, or one for each of its 3 dim"),
        ((1, 2), ValueError, "not 2"),
        ((1, 2, 3, 0), ValueError, "not 4"),
        ((24,), IndexError, "index 24 is out of bounds for size 24"),
        ((-25,), IndexError, "index -25 "),
        ((0, 3, 0), IndexError, "index 3 is out of bounds for axis 1 with size 3"),
        ((0, 0, -5), IndexError, "index -5 is out of bounds for axis 2"),
        ((2**70,), IndexError, "index 1180591620717411303424 does not fit in 63 bits"),
        ((1.0,), TypeError, r"item\(\) takes integers, not float"),
        ((True,), TypeError, "not bool"),
        ((0, None, 0), TypeError, "not NoneType"),
        ((slice(None),), TypeError, "not slice"),
    ],
    ids=str,
)
def test_item_refuses(index, error, words, cube):
    with pytest.raises(error, match=words):
        cube.item(*index)
    with pytest.raises(IndexError):
        cube[:0].item(0)
    with pytest.raises(TypeError, match=r"not gpumem\.DeviceArray"):
        cube.item(cube.view("i4")[0, 0, 0])


@pytest.mark.parametrize("view", VIEWS)
def test_tolist(view, cube):
    assert VIEWS[view](cube).tolist() == VIEWS[view](CUBE).tolist()


# ---- shapes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F", "A"])
@pytest.mark.parametrize("view", VIEWS)
def test_ravel_and_flatten(view, order, cube):
    here, there = VIEWS[view](CUBE), VIEWS[view](cube)
    same(there.ravel(order), here.ravel(order))
    same(there.flatten(order=order), here.flatten(order))
    if here.size:
        assert (there.ravel(order).pointer == there.pointer) == np.shares_memory(
            here.ravel(order), here
        )
        assert there.flatten(order).pointer != there.pointer
    copied = there.flatten(order)
    copied.fill_bytes(255)
    same(there, here)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (1, 1)])
def test_ravel_of_small_arrays(shape, backend):
    there, here = gm.to_device(np.ones(shape), backend=backend), np.ones(shape)
    for order in "CFA":
        same(there.ravel(order), here.ravel(order))
        same(there.flatten(order), here.flatten(order))


@pytest.mark.parametrize("order", ["C", "F", "A"])
@pytest.mark.parametrize("shape", [(24,), (4, -1), ((3, 2, 4),), ([24, 1],)])
def test_reshape_in_an_order(shape, order, cube):
    for there, here in ((cube, CUBE), (cube.T, CUBE.T)):
        fits = here.flags.c_contiguous if order == "C" else here.flags.f_contiguous
        if fits or order == "A":
            same(there.reshape(*shape, order=order), here.reshape(*shape, order=order))
            assert there.reshape(*shape, order=order).pointer == there.pointer
        else:
            with pytest.raises(ValueError, match=r"contiguous.*copy\(\).*makes one"):
                there.reshape(*shape, order=order)
            advised = there.copy() if order == "C" else there.T.copy().T
            same(advised.reshape(*shape, order=order), here.reshape(*shape, order=order))


def test_orders_that_are_refused(cube):
    for method in (cube.ravel, cube.flatten, lambda order: cube.reshape(24, order=order)):
        with pytest.raises(ValueError, match="order is 'K', expected 'C', 'F' or 'A'"):
            method("K")
        with pytest.raises(ValueError):
            method("X")
        with pytest.raises(TypeError):
            method(1)
    with pytest.raises(TypeError):
        cube.reshape(24, wrong=1)


def test_squeeze(backend):
    here = CUBE.reshape(1, 6, 1, 4)
    there = gm.to_device(here, backend=backend)
    for axis in (None, 0, -2, (0, 2), ()):
        same(there.squeeze(axis), here.squeeze(axis))
        same(there.T.squeeze(), here.T.squeeze())
        assert there.squeeze(axis=axis).pointer == there.pointer
    with pytest.raises(ValueError, match="size not equal to one"):
        there.squeeze(1)
    with pytest.raises(np.exceptions.AxisError):
        there.squeeze(4)


def test_view_takes_a_keyword(cube):
    same(cube.view(dtype="i4"), CUBE.view("i4"))
    same(cube.view(), CUBE)
    same(cube.T.view(), CUBE.T)
    assert cube.view().pointer == cube.pointer


# ---- flags ------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS)
def test_flags(view, cube):
    there, here = VIEWS[view](cube).flags, VIEWS[view](CUBE).flags
    for name in ("c_contiguous", "f_contiguous", "writeable"):
        assert getattr(there, name) is getattr(here, name)
        assert there[name.upper()] is there[name[0].upper()] is here[name.upper()]
        with pytest.raises(AttributeError):
            setattr(there, name, True)
    with pytest.raises(KeyError, match="no flag 'OWNDATA': there are 'C_CONTIGUOUS'"):
        there["OWNDATA"]
    with pytest.raises(KeyError, match="no flag 0"):
        there[0]
    assert repr(cube.flags) == "Flags(c_contiguous=True, f_contiguous=False, writeable=True)"
    with pytest.raises(TypeError):
        type(there)()


@pytest.mark.gpu
def test_flags_of_read_only_memory(lent):
    assert not lent.flags.writeable and not lent[0].flags["W"]
    with pytest.raises(TypeError):
        lent.flags["W"] = True
    assert not lent.ravel().writeable and not lent.squeeze().writeable
    assert lent.flatten().writeable


# ---- copies and pickle ------------------------------------------------------------------------

COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle-{protocol}": lambda d, protocol=protocol: pickle.loads(pickle.dumps(d, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("view", VIEWS)
def test_copies(view, way, cube):
    here, there = VIEWS[view](CUBE), VIEWS[view](cube)
    copied = COPIES[way](there)
    same(copied, here)
    assert copied.contiguous and copied.writeable
    assert (copied.backend, copied.device) == (cube.backend, cube.device)
    copied.fill_bytes(255)
    same(cube, CUBE)


@pytest.mark.parametrize("way", COPIES)
def test_copies_of_any_dtype(way, backend):
    for dtype in ("?", "c16", "U3", "M8[ms]", "V5", [("a", "i2"), ("b", "f8", (2,))]):
        here = np.zeros((2, 3), dtype)
        same(COPIES[way](gm.to_device(here, backend=backend)), here)


@pytest.mark.gpu
@pytest.mark.parametrize("way", COPIES)
def test_copies_of_read_only_memory_are_writeable(way, lent):
    same(COPIES[way](lent), CUBE)
    assert COPIES[way](lent).writeable


def test_deepcopy_keeps_identities(cube):
    first, second, other = copy.deepcopy([cube, cube, cube[0]])
    assert first is second and first is not cube
    same(other, CUBE[0])


def test_pickle_takes_the_bytes_out_of_band(cube):
    buffers = []
    text = pickle.dumps(cube, 5, buffer_callback=buffers.append)
    assert len(buffers) == 1 and bytes(buffers[0]) == CUBE.tobytes()
    same(pickle.loads(text, buffers=buffers), CUBE)


# ---- references -------------------------------------------------------------------------------


def test_weak_references(cube):
    gone = []
    view = cube[0]
    references = weakref.ref(cube, gone.append), weakref.ref(view)
    values = weakref.WeakValueDictionary(cube=cube, view=view)
    assert references[0]() is cube and values["view"] is view
    del view
    gc.collect()
    assert references[1]() is None and dict(values) == {"cube": cube}


def test_a_weak_reference_is_called_when_the_array_goes(backend):
    gone = []
    there = gm.DeviceArray(3, backend=backend)
    reference = weakref.ref(there, gone.append)
    view = there[...]
    del there
    gc.collect()
    assert gone == [reference] and reference() is None
    assert view.shape == (3,)


def test_nothing_is_left_behind(cube, backend):
    memo = {}

    def everything():
        cube.item(3), cube[0, 0, 0].item(), cube.item((1, 2, 3)), cube.T.tolist()
        cube.T.ravel(), cube.ravel("A"), cube.flatten("F"), cube.squeeze(), cube.view()
        cube.reshape((4, 6), order="C"), cube.T.reshape(-1, order="F")
        repr(cube.flags), cube.flags["C"], cube.flags.writeable
        copy.copy(cube), copy.deepcopy(cube), pickle.loads(pickle.dumps(cube))
        weakref.ref(cube)
        for misuse in (
            lambda: cube.item(99),
            lambda: cube.item(0, 0),
            lambda: cube.item("x"),
            lambda: cube.ravel("K"),
            lambda: cube.T.reshape(24),
            lambda: cube.squeeze(0),
            lambda: cube.flags["X"],
        ):
            with pytest.raises((IndexError, ValueError, TypeError, KeyError)):
                misuse()

    watched = [cube, cube.dtype, memo, gm.to_device, backend]
    for _ in range(3):
        everything()
    gc.collect()
    counts = [sys.getrefcount(value) for value in watched]
    used = gm.pool_info(backend=backend)["device"]["used"]
    for _ in range(50):
        everything()
    gc.collect()
    assert [sys.getrefcount(value) for value in watched] == counts
    assert gm.pool_info(backend=backend)["device"]["used"] == used


def test_import_while_garbage_is_collected():
    """The collector looks at what a type has while the type is being made."""
    script = "import gc, numpy; gc.set_threshold(1); import gpumem._core"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)
