"""Files: foreign, damaged and forged ones are refused, and a disk that fails loses nothing."""

import errno
import hashlib
import io
import json
import os

import numpy as np
import pytest
from test_checkpoint import CASES

import problems
from checkpoints import assert_same, cut, run
from ipds import Block, Checkpoint, CheckpointError, CheckpointWarning, DivergenceError, Problem, Status
from ipds.functions import L1, smooth
from ipds.methods import AcceleratedIPDS
from ipds.solving import saved
from ipds.solving.saved import SavedFile

OTHERS = {
    "h of block 'V'": {"make": lambda: problems.sparse_pca(rho=0.4)},
    "f of block 'V'": {"make": lambda: problems.sparse_pca(seed=5)},
    "shape of block 'Y'": {"make": lambda: problems.sparse_pca(r=2)},
    "A of block 'Y'": {"make": lambda: scaled(-2.0)},
    "b": {"make": lambda: scaled(-1.0, b=0.5)},
    "x0": {"x0": [np.eye(12, 3), np.eye(12, 3)]},
    "z0": {"z0": np.ones((12, 3))},
    "seed": {"seed": 2},
    "method": {"method": AcceleratedIPDS("fast")},
    "version of ipds": {"version": "0.0.1"},
}


def scaled(a, b=0.0):
    Y, V = problems.sparse_pca().blocks
    return Problem([Block(h=Y.h, A=a, shape=Y.shape, name="Y"), V], b=b)


@pytest.mark.parametrize("part", OTHERS)
def test_another_solve_is_refused_with_what_differs(part, tmp_path, monkeypatch):
    path = tmp_path / "a"
    run(path)
    before = path.read_bytes()
    options = dict(OTHERS[part])
    if "version" in options:
        monkeypatch.setattr("ipds.solving.fingerprint.__version__", options.pop("version"))
    with pytest.raises(CheckpointError, match="belongs to another solve") as caught:
        run(path, **options)
    assert f"{part}: " in str(caught.value)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before


def test_functions_are_compared_by_what_they_do(tmp_path):
    def make(shift, sign=1.0):
        f = smooth(
            lambda x: 0.5 * float(np.sum((x - shift) ** 2)), lambda x: sign * (x - shift), lipschitz=1.0
        )
        return lambda: Problem([Block(f=f, A=-1.0, shape=3), Block(h=L1(0.1), shape=3)])

    path = tmp_path / "a"
    run(path, make(1.0))
    run(path, make(1.0))
    with pytest.raises(CheckpointError, match="f of block 'x1': its data"):
        run(path, make(1.5))


def damage(path, how):
    data = bytearray(path.read_bytes())
    match how:
        case "cut":
            data = data[: len(data) // 2]
        case "empty":
            data = b""
        case "longer":
            data += b"x"
        case "one bit of an array":
            data[-100] ^= 1
        case "one bit of the tree":
            data[500] ^= 1
        case "zeros":
            data[100:400] = bytes(300)
        case "something else":
            data = b"PK\x03\x04" + bytes(1000)
        case "newer":
            data = data.replace(b"ipds-checkpoint 3", b"ipds-checkpoint 4")
    path.write_bytes(data)


DAMAGES = (
    "cut",
    "empty",
    "longer",
    "one bit of an array",
    "one bit of the tree",
    "zeros",
    "something else",
    "newer",
)


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_file_gives_way_to_the_one_before(how, tmp_path):
    undisturbed = run(None)
    path = tmp_path / "a"
    cut(problems.sparse_pca, path, 40, seed=1, tol=1e-13, max_iter=60)
    damage(path, how)
    with pytest.warns(CheckpointWarning, match=r"a: .*; going on from .*a.previous"):
        result = run(path)
    assert_same(result, undisturbed)
    for generation in (path, tmp_path / "a.previous"):
        damage(generation, how)
    with pytest.raises(CheckpointError, match=r"no checkpoint can be read.*delete or rename it"):
        run(path)


def forged(path, change):
    """The checkpoint with its content changed and its checksum made right: what an attacker could write."""
    file = SavedFile(path)
    kinds = {name: np.empty(shape, dtype) for name, (dtype, shape, *_) in file.arrays.items()}
    arrays = {name: file.leaf(name, kind) for name, kind in kinds.items()}
    arrays = change(file.manifest, arrays) or arrays
    out = io.BytesIO()
    saved.write(out, file.manifest, arrays)
    path.write_bytes(out.getvalue())


def put(name, value):
    return lambda m, a: a | {name: np.asarray(value)}


def drop(name):
    return lambda m, a: {n: x for n, x in a.items() if n != name}


FORGERIES = {
    "a missing number": drop("carry/stage/beta"),
    "a missing array": drop("carry/target"),
    "a missing history": drop("0/history"),
    "a number too many": put("carry/more", 1.0),
    "an array too many": put("carry/more", np.zeros(3)),
    "text for a number": put("carry/stage/beta", "much"),
    "an array for a number": put("carry/stage/beta", [1.0]),
    "a truth for a number": put("carry/stage/beta", True),
    "an array of another shape": put("carry/target", np.zeros(3)),
    "an array of another dtype": lambda m, a: a | {"carry/target": a["carry/target"].astype("f4")},
    "integers": lambda m, a: {n: (x != 0).astype(int) for n, x in a.items()},
    "a method after one that had not ended": lambda m, a: (
        a | {"1/history": a["0/history"], "0/status": np.asarray(0)}
    ),
    "an empty identity": lambda m, a: m.update(identity={"b": []}),
    "no identity": lambda m, a: m.pop("identity") and None,
    "an entropy that is none": lambda m, a: m.update(entropy="much"),
    "nesting": lambda m, a: m.update(identity=json.loads("[" * 900 + "]" * 900)),
    "a status that is none": put("0/status", 99),
    "a status before the first": put("0/status", -1),
    "a fraction for a count": put("carry/t", 0.5),
    "another iteration": put("carry/t", 3),
    "iterations before the first": put("0/best/t", -5),
    "a certificate without a block": drop("0/last/certificate/stationarity/1"),
    "a certificate of another problem": put("0/last/certificate/stationarity/2", 0.0),
    "a history without axes": put("0/history", 0.0),
    "a history of other columns": put("0/history", np.zeros((3, 2))),
    "a watcher that holds a number": put("0/watcher/z", 1.0),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_file_is_refused(forgery, tmp_path):
    path = tmp_path / "a"
    run(path)
    path.with_name("a.previous").unlink()
    forged(path, FORGERIES[forgery])
    with pytest.raises(CheckpointError, match="delete or rename it"):
        run(path)


@pytest.mark.parametrize("shape", [[10**15], [-1], [2, -3], ["3"], [1.5], 3, None])
def test_sizes_are_compared_with_the_file_before_anything_is_read(shape, tmp_path):
    path, text = (
        tmp_path / "a",
        json.dumps({"arrays": {"x": ["<f8", shape, [0]]}}).encode() + b"\n",
    )
    mark = hashlib.blake2b(text + bytes(100)).hexdigest()
    path.write_bytes(b"ipds-checkpoint 3 " + mark.encode() + b"\n" + text + bytes(100))
    with pytest.raises(CheckpointError, match=r"no checkpoint can be read.*damaged"):
        run(path)


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("where", ["os.fsync", "tempfile.mkstemp"])
def test_a_disk_that_fails_is_told_of_and_the_solve_goes_on_or_stops(fault, where, tmp_path, monkeypatch):
    undisturbed = run(None)
    path = tmp_path / "a"
    cut(problems.sparse_pca, path, 20, seed=1, tol=1e-13, max_iter=60)
    whole = path.read_bytes()

    def failing(*args, **keywords):
        raise OSError(fault, os.strerror(fault))

    monkeypatch.setattr(where, failing)
    with pytest.warns(
        CheckpointWarning, match=f"a cannot be written: {os.strerror(fault)}; the solve goes on"
    ) as told:
        result = run(Checkpoint(path, every=0.0))
    assert len(told) == 1
    assert_same(result, undisturbed)
    assert path.read_bytes() == whole
    with pytest.raises(CheckpointError, match=f"a cannot be written: {os.strerror(fault)}") as caught:
        run(Checkpoint(path, every=0.0, on_error="stop"))
    assert caught.value.result.nit == 20
    assert not list(tmp_path.glob("*tmp"))
    assert path.read_bytes() == whole


def test_a_full_disk_for_real(tmp_path):
    """The operating system refuses to write more than 5000 bytes to any file."""
    resource = pytest.importorskip("resource", reason="POSIX only")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, hard))
    try:
        with pytest.warns(CheckpointWarning, match="cannot be written"):
            result = run(tmp_path / "a")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert_same(result, run(None))
    assert not list(tmp_path.iterdir())


def test_a_folder_that_nobody_can_write_to():
    if not os.path.isdir("/proc/self"):
        pytest.skip("needs a folder that even root cannot write to")
    with pytest.warns(CheckpointWarning, match="cannot be written"):
        run("/proc/self/a")
    with pytest.raises(CheckpointError, match="cannot be written") as caught:
        run(Checkpoint("/proc/self/a", on_error="stop"))
    assert caught.value.result.nit == 1  # it says so at once, not after the first interval


def test_leftovers_of_a_killed_process_are_removed(tmp_path):
    """Its own, not those of a solve whose file has a longer name."""
    (tmp_path / "a[1].x1y2z3_4.ipds-tmp").write_bytes(b"half a file")
    (tmp_path / "a[1].b.x1y2z3_4.ipds-tmp").write_bytes(b"half a file of another")
    run(tmp_path / "a[1]", max_iter=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a[1]", "a[1].b.x1y2z3_4.ipds-tmp", "a[1].previous"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"path": 3}, TypeError, "path must be a file name, got 3"),
        ({"path": ""}, TypeError, "path must be a file name"),
        ({"path": "a", "every": "often"}, TypeError, "every must be a number of seconds, got 'often'"),
        ({"path": "a", "every": -1}, ValueError, "every must be at least 0 seconds"),
        ({"path": "a", "every": float("nan")}, ValueError, "every must be at least 0 seconds"),
        ({"path": "a", "iterations": 0}, ValueError, "iterations must be a positive integer"),
        (
            {"path": "a", "on_error": "ignore"},
            ValueError,
            "on_error must be 'continue' or 'stop', got 'ignore'",
        ),
    ],
)
def test_settings_that_make_no_sense(arguments, error, message):
    with pytest.raises(error, match=message):
        Checkpoint(**arguments)


def test_a_path_that_is_no_path():
    with pytest.raises(TypeError, match="path must be a file name, got 3"):
        run(3)


def test_a_folder_is_no_checkpoint(tmp_path):
    with pytest.raises(CheckpointError, match="no checkpoint can be read"):
        run(tmp_path)
    assert tmp_path.is_dir()


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?", ">f8"])
def test_arrays_come_back_with_their_layout(dtype, tmp_path):
    """BLAS rounds differently for other layouts, so a resumed solve must have the same."""
    full = np.arange(24).reshape(2, 3, 4).astype(dtype)
    arrays = [
        full,
        np.asfortranarray(full),
        full.transpose(1, 0, 2),
        full[:, ::2, 1],
        full[0, 0, 0].reshape(()),
        full[:0],
        full[:1].copy(order="F"),
    ]
    path = tmp_path / "a"
    with open(path, "wb") as out:
        saved.write(out, {"entropy": 1}, {str(i): a for i, a in enumerate(arrays)})
    file = SavedFile(path)
    read = [file.leaf(str(i), a) for i, a in enumerate(arrays)]
    assert file.manifest == {"entropy": 1}
    for before, after in zip(arrays, read, strict=True):
        assert (after.dtype, after.shape) == (before.dtype, before.shape)
        assert (after.flags.c_contiguous, after.flags.f_contiguous) == (
            before.copy(order="K").flags.c_contiguous,
            before.copy(order="K").flags.f_contiguous,
        )
        assert after.flags.writeable
        np.testing.assert_array_equal(after, before)


JUNK = (None, True, 0, -1, 7, 1.5, 10**400, 2**70, "", [], {}, [1, 2], [None, None], {"carry": 1})
NUMBERS = (True, 0, -1, 7, 1.5, 0.0, np.nan, np.inf, 1e308, 5e-324, 2**62)


def mutate(manifest, arrays, rng):
    """Put junk, or what stands elsewhere, in some place; or make an array one of another kind, shape or name."""
    names = list(arrays)
    first, second = (names[i] for i in rng.integers(len(names), size=2))
    scalars = [name for name in names if arrays[name].shape == ()]
    a = arrays[first]
    match rng.integers(8):
        case 0:
            others = [a != 0, (a != 0).astype(int), a.astype("f4"), a.reshape(-1)[:0], a * np.nan]
            arrays[first] = others[rng.integers(len(others))]
        case 1:
            arrays[first], arrays[second] = arrays[second], arrays[first]
        case 2:
            arrays.pop(first)
        case 3:
            manifest["entropy"] = JUNK[rng.integers(len(JUNK))]
        case 4:  # of the right kind, so that nothing but the numbers is wrong
            name = scalars[rng.integers(len(scalars))]
            with np.errstate(invalid="ignore"):
                arrays[name] = np.asarray(NUMBERS[rng.integers(len(NUMBERS))]).astype(arrays[name].dtype)
        case _:
            arrays[first] = np.asarray(NUMBERS[rng.integers(len(NUMBERS))])


FORGED = (
    *("accelerated", "accelerated, not quadratic", "IPDS practical", "Reordered"),
    *("RADMM", "SPGM", "Subgradient", "ManPG", "FixedPenaltyADMM", "auto, reordered"),
)


@pytest.mark.parametrize("case", FORGED)
def test_random_forgeries_are_refused_or_harmless(case, tmp_path):
    """Trees changed anywhere: `CheckpointError`, or a solve that ends as solves do; Python's own errors never."""
    make, method = CASES[case]
    path, rng, refused = tmp_path / "a", np.random.default_rng(7), 0
    options = {"method": method, "check_every": 7}
    cut(make, path, 30, seed=1, tol=1e-13, max_iter=60, **options)
    content = path.read_bytes()
    for _ in range(40):
        path.write_bytes(content)
        path.with_name("a.previous").unlink(missing_ok=True)
        forged(path, lambda manifest, arrays: mutate(manifest, arrays, rng))
        try:
            assert isinstance(run(path, make, max_iter=40, **options).status, Status)
        except DivergenceError:
            continue  # numbers that no run comes to, but numbers
        except CheckpointError:
            refused += 1
    assert refused >= 20


BROKEN = []


def fragile():
    """A problem whose gradient fails once `BROKEN` holds something; as a global, that is no part of the problem."""

    def gradient(x):
        if BROKEN:
            raise TypeError("the caller's own")
        return x - 1.0

    f = smooth(lambda x: 0.5 * float(np.sum((x - 1.0) ** 2)), gradient, lipschitz=1.0)
    return Problem([Block(f=f, A=-1.0, shape=3), Block(h=L1(0.1), shape=3)])


@pytest.mark.parametrize("where", ["function", "callback"])
def test_errors_of_the_callers_code_come_through_in_a_resumed_solve(where, tmp_path, monkeypatch):
    """They are not the file's fault, though forged files lead to errors of the same types."""
    monkeypatch.setattr(f"{__name__}.BROKEN", [])
    run(tmp_path / "a", fragile, method="sound", max_iter=5)

    def callback(now):
        if where == "callback":
            raise TypeError("the caller's own")
        BROKEN.append(True)

    with pytest.raises(TypeError, match="the caller's own") as caught:
        run(tmp_path / "a", fragile, method="sound", callback=callback)
    assert caught.value.result.status is Status.FAILED
