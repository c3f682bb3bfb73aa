"""Trees of records, numbers and arrays as JSON beside a list of plain arrays, and back: no pickle, no code.

Numbers, strings, tuples, lists, dictionaries, arrays and *records* (NamedTuples and dataclasses, by name and fields)
are written down. Functions, operators and whatever else a method's `init` makes of a problem are not: they are named by
the place where a fresh `init` puts them, and found there again.
"""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from .._arrays import Array, from_numpy, is_array, to_numpy
from ..distributed import Rows, cut_like
from ..functions import Nonsmooth, Smooth
from ..methods import Method, State
from ..operators import Operator
from ..problem import Block, Problem
from ..status import Status
from ..theory.diagnostics import Certificate
from .history import History

METHODS = ("value_and_grad", "grad", "prox", "apply", "adjoint", "subgradient", "tangent")
"""Methods of functions and operators that a record may refer to."""

MODULES = (
    "ipds.methods.",
    "ipds.theory.state",
    "ipds.solving.run",
    "ipds.solving.stopping",
    "ipds.theory.diagnostics",
    "ipds.parameters",
)
"""Where the records of this package are defined; no others can be called into being by a file."""

RESULT: dict[str, Any] = {
    "x": tuple[Any, ...],
    "z": Any,
    "fun": float,
    "success": bool,
    "status": Status,
    "message": str,
    "nit": int,
    "seconds": float,
    "certificate": Certificate,
    "history": History,
    "state": State,
    "parameters": Any,
    "method": str,
}
"""What a saved result consists of."""


class EncodingError(ValueError):
    """A value that cannot be written down, or a tree that does not stand for one."""


class Context(NamedTuple):
    """What a tree may refer to."""

    places: dict[str, Any]
    """Objects that are made anew and not saved, by place."""
    modules: tuple[str, ...]
    """Modules whose records are known, beside `MODULES`: those of a method defined elsewhere."""
    likes: tuple[Array, ...]
    """Arrays of the library that restored arrays belong to; best one of the same shape."""


def context(
    problem: Problem,
    start: tuple[tuple[Array, ...], Array],
    method: Method | None = None,
    state: State | None = None,
) -> Context:
    """The context of a solve, and of the States of a method: `state` is what its `init` makes of the problem."""
    places: dict[str, Any] = {"problem": problem}
    if is_array(problem.b):
        places["b"] = problem.b
    for i, (block, op) in enumerate(zip(problem.blocks, problem.operators, strict=True)):
        places |= {f"blocks.{i}": block, f"f.{i}": block.f, f"h.{i}": block.h, f"A.{i}": op}
    if state is not None:
        places |= dict(_made(state.memory, "memory"))
    modules = tuple(kind.__module__ for kind in type(method).__mro__)
    return Context(places, modules, (start[1], *start[0]))


def encode(value: Any, known: Context, arrays: list[np.ndarray]) -> Any:
    """The tree of a value; its arrays are appended to `arrays`, each once."""
    from ..result import Result

    named = {id(thing): place for place, thing in known.places.items() if thing is not None}
    numbers: dict[int, int] = {}
    kept = []  # so that no id is given twice while we look

    def stored(value: Any) -> int:
        if id(value) not in numbers:
            numbers[id(value)] = len(arrays)
            kept.append(value)
            arrays.append(to_numpy(value))
        return numbers[id(value)]

    def tree(value: Any) -> Any:
        if value is None or type(value) in (bool, int, float, str):
            return value
        if id(value) in named:
            return {"place": named[id(value)]}
        if isinstance(value, np.generic):
            return {"scalar": stored(np.asarray(value))}
        if is_array(value):
            return {"rows" if isinstance(value, Rows) else "array": stored(value)}
        if isinstance(value, Status):
            return {"status": value.name}
        if isinstance(value, History):
            return {"history": {name: stored(value[name]) for name in value}}
        if isinstance(value, Result):
            fields = {**value, "state": dataclasses.replace(value.state, memory=None)}
            return {"result": {name: tree(entry) for name, entry in fields.items()}}
        if _is_record(value):
            kind = type(value)
            if _record(_name(kind), known) is not kind:
                raise EncodingError(f"{kind.__qualname__} is not defined at the top of its method's module")
            return {"record": _name(kind), "fields": {name: tree(part) for name, part in _fields(value)}}
        if type(value) is tuple:
            return {"tuple": [tree(part) for part in value]}
        if type(value) is list:
            return [tree(part) for part in value]
        if type(value) is dict and all(type(name) is str for name in value):
            return {"dict": {name: tree(part) for name, part in value.items()}}
        if isinstance(value, types.MethodType) and value.__name__ in METHODS:
            return {"method": [tree(value.__self__), value.__name__]}
        raise EncodingError(f"a {type(value).__qualname__} cannot be saved")

    return tree(value)


def decode(tree: Any, known: Context, arrays: list[np.ndarray]) -> Any:
    """The value of a tree; raises `EncodingError` where it stands for none."""
    from ..result import Result

    restored: dict[int, Array] = {}

    def array(number: Any) -> Array:
        if number not in restored:
            plain = arrays[_index(number, arrays)]
            likes = [like for like in known.likes if not isinstance(like, Rows)] or [plain]
            like = next((like for like in likes if like.shape == plain.shape), likes[0])
            restored[number] = from_numpy(plain, like)
        return restored[number]

    def rows(number: Any) -> Rows:
        if number not in restored:
            like = next(like for like in known.likes if isinstance(like, Rows))
            restored[number] = cut_like(arrays[_index(number, arrays)], like)
        return restored[number]

    def value(tree: Any) -> Any:
        if tree is None or isinstance(tree, bool | int | float | str):
            return tree
        if isinstance(tree, list):
            return [value(part) for part in tree]
        ((kind, content), *rest) = tree.items()
        if kind == "record" and [name for name, _ in rest] == ["fields"]:
            record = _record(content, known)(**{name: value(part) for name, part in rest[0][1].items()})
            hints = _hints(type(record))
            for name, part in _fields(record):
                if not _fits(part, hints[name], _anything):
                    raise EncodingError(f"{name} of {content} is not of its type")
            return record
        if rest:
            raise EncodingError(f"unknown entry {kind!r}")
        match kind:
            case "place":
                return known.places[content]
            case "array":
                return array(content)
            case "rows":
                return rows(content)
            case "scalar":
                return arrays[_index(content, arrays)][()]
            case "status":
                return Status[content]
            case "history":
                return History.of({name: arrays[_index(k, arrays)] for name, k in content.items()})
            case "result":
                fields = {name: value(part) for name, part in content.items()}
                if set(fields) != set(RESULT) or not all(
                    _fits(part, RESULT[name], _anything) for name, part in fields.items()
                ):
                    raise EncodingError("a result lacks what results have")
                return Result(fields)
            case "tuple":
                return tuple([value(part) for part in content])
            case "dict":
                return {name: value(part) for name, part in content.items()}
            case "method":
                owner, name = content
                if name not in METHODS:
                    raise EncodingError(f"no method {name!r} may be referred to")
                return getattr(value(owner), name)
        raise EncodingError(f"unknown entry {kind!r}")

    try:
        return value(tree)
    except (LookupError, StopIteration, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise EncodingError(f"{type(error).__name__}: {error}") from error


def alike(value: Any, fresh: Any, where: str = "state", hint: Any = None) -> None:
    """Refuse a restored value that is not built like a fresh one: records, arrays and numbers in the same places.

    Arrays have the shape and dtype of the fresh ones, and what belongs to the problem is the same object. Where there
    is nothing at first, what the record declares (`hint`) may follow; nothing may stand where a record has that by
    default (a phase that is over), and a number where it declares no type (b - z/β, once z is zero).
    """
    if fresh is None or (type(fresh) is tuple and not fresh):
        fine = _fits(value, hint or Any, _is_plain)
    elif is_array(fresh) and is_array(value):
        fine = (value.shape, value.dtype) == (fresh.shape, fresh.dtype)
    elif is_array(fresh):
        fine = hint in (Any, object) and _is_number(value)
    elif isinstance(fresh, bool | str):
        fine = type(value) is type(fresh)
    elif isinstance(fresh, int | float):
        fine = _is_number(value)
    elif _is_record(fresh):
        fine, hints = type(value) is type(fresh), _hints(type(fresh))
        for name, part in _fields(fresh) if fine else ():
            given = getattr(value, name)
            absent = given is None or (type(given) is tuple and not given)
            if not absent or given != _default(type(fresh), name):
                alike(given, part, f"{where}.{name}", hints[name])
    elif isinstance(fresh, tuple | list):
        fine = type(value) is type(fresh) and len(value) == len(fresh)
        for i, (part, other) in enumerate(zip(value, fresh, strict=True) if fine else ()):
            alike(part, other, f"{where}[{i}]")
    elif _is_bound(fresh):
        fine = value is fresh
    elif callable(fresh):
        # itself, or the full evaluation of the function that it is a shortcut for
        fine = value == fresh or getattr(value, "__self__", value) is getattr(fresh, "f", None)
    else:
        fine = isinstance(value, type(fresh))
    if not fine:
        raise EncodingError(f"{where} is not what this method makes of this problem")


def _fits(value: Any, hint: Any, anything: Callable[[Any], bool]) -> bool:
    """Whether a value is of a declared type; `anything` says what `Any`, and so `Array`, stands for."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return anything(value)
    if origin in (Union, types.UnionType):
        return any(_fits(value, one, anything) for one in arguments)
    if origin is tuple:
        if type(value) is not tuple:
            return False
        each = arguments[:1] * len(value) if arguments[-1] is ... else arguments
        return len(value) == len(each) and all(
            _fits(part, one, anything) for part, one in zip(value, each, strict=True)
        )
    if origin is Literal:
        return value in arguments
    if hint is float:
        return _is_number(value)
    if hint is int:
        return isinstance(value, np.integer) or (type(value) is int and _is_number(value))
    return isinstance(value, origin or hint)


def _anything(value: Any) -> bool:
    return True


def _is_number(value: Any) -> bool:
    """Whether a value is a real number no larger than integers of 64 bits, or in floating point."""
    if is_array(value):
        return value.ndim == 0
    return isinstance(value, float | np.generic) or (type(value) is int and abs(value) < 2**63)


def _is_plain(value: Any) -> bool:
    """Whether a value is nothing, a number, an array, or a tuple of such."""
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return value is None or _is_number(value) or is_array(value)


def _is_bound(value: Any) -> bool:
    """Whether a value is part of the problem or of a method rather than of where a run stands."""
    return isinstance(value, Smooth | Nonsmooth | Operator | Block | Problem | Method)


def _is_record(value: Any) -> bool:
    named_tuple = isinstance(value, tuple) and hasattr(value, "_fields")
    return named_tuple or (
        dataclasses.is_dataclass(value) and not isinstance(value, type) and not _is_bound(value)
    )


def _names(record: Any) -> Sequence[str]:
    return getattr(record, "_fields", None) or [field.name for field in dataclasses.fields(record)]


def _fields(record: Any) -> list[tuple[str, Any]]:
    return [(name, getattr(record, name)) for name in _names(record)]


def _hints(kind: type) -> dict[str, Any]:
    """The declared types of the fields of a record; `object` for records of others, who need not keep to theirs."""
    if kind.__module__.startswith(MODULES):
        return get_type_hints(kind)
    return dict.fromkeys(_names(kind), object)


def _default(kind: Any, name: str) -> Any:
    """The value of a field of a record where none is given."""
    if hasattr(kind, "_field_defaults"):
        return kind._field_defaults.get(name, name)
    return kind.__dataclass_fields__[name].default


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _record(name: str, known: Context) -> Any:
    """The record type of a name, looked up among modules already there: nothing is imported for a file."""
    module, _, kind = name.partition(":")
    if module in known.modules or module.startswith(MODULES):
        found = getattr(sys.modules.get(module), kind, None)
        if isinstance(found, type) and (hasattr(found, "_fields") or dataclasses.is_dataclass(found)):
            return found
    raise EncodingError(f"no record is called {name}")


def _made(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """What cannot be written down in a method's memory, with its place."""
    if _is_record(value):
        for name, part in _fields(value):
            yield from _made(part, f"{place}.{name}")
    elif type(value) in (tuple, list):
        for i, part in enumerate(value):
            yield from _made(part, f"{place}.{i}")
    elif _is_bound(value) or (callable(value) and not is_array(value)):
        yield place, value


def _index(number: Any, arrays: list[np.ndarray]) -> int:
    if type(number) is not int or not 0 <= number < len(arrays):
        raise EncodingError(f"no array has the number {number!r}")
    return number
