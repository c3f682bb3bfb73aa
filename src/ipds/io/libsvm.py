"""The text format of LIBSVM: a label, then index:value pairs, one sample per line."""

from __future__ import annotations

import math
from array import array
from pathlib import Path

import numpy as np
import scipy.sparse

from .bounded import LIMIT, opened
from .errors import DataError

LONGEST_LINE = 1 << 24
LARGEST_INDEX = (1 << 31) - 1


def read_libsvm(path: str | Path) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """Samples and labels of a LIBSVM file, plain, .gz or .bz2; indices increase in every line.

    They start at one, or at zero where a zero occurs, as scikit-learn writes them.
    Of several labels separated by commas the first is returned; `qid:` and comments after # are passed over.
    `DataError` names the line; `OSError`: the file cannot be opened.

    Reference: Chang & Lin, *LIBSVM: a library for support vector machines*, ACM TIST 2 (2011).
    """
    labels, values, columns, starts = array("d"), array("d"), array("l"), array("l", [0])
    number = size = 0
    with opened(path) as stream:
        while line := stream.readline(LONGEST_LINE):
            number += 1
            size += len(line)
            if size > LIMIT or (len(line) == LONGEST_LINE and not line.endswith(b"\n")):
                raise DataError(f"{path}, line {number}: larger than accepted")
            words = line.split(b"#", 1)[0].split()
            if not words:
                continue
            labels.append(_number(words[0].split(b",")[0], path, number))
            before = -1
            for word in words[1:]:
                if word.startswith(b"qid:"):
                    continue
                index, colon, value = word.partition(b":")
                if not (
                    colon and index.isdigit() and len(index) < 11 and before < int(index) <= LARGEST_INDEX
                ):
                    after = "" if before < 0 else f" after {before}"
                    raise DataError(f"{path}, line {number}: {_shown(word)} is no index:value{after}")
                before = int(index)
                columns.append(before)
                values.append(_number(value, path, number))
            starts.append(len(columns))
    if not labels:
        raise DataError(f"{path}: no samples")
    places = np.array(columns)
    if places.size and places.min() > 0:
        places -= 1
    shape = (len(labels), int(places.max(initial=-1)) + 1)
    parts = (np.array(values), places, np.array(starts))
    return scipy.sparse.csr_array(parts, shape=shape), np.array(labels)


def _number(text: bytes, path: str | Path, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{path}, line {line}: {_shown(text)} is not a finite number")
    return value


def _shown(text: bytes) -> str:
    return repr(text[:40].decode("ascii", "replace"))
