"""Where data files are: a folder given, the folder IPDS_DATA, the cache; and how they get into the cache."""

from __future__ import annotations

import hashlib
import os
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from ...io import DataError, DataMissing
from ...io.replacing import replacing

CHUNK = 1 << 20

TIMEOUT = 30.0
"""Seconds without an answer after which a download is given up."""
LARGEST = 200 << 20


@dataclass(frozen=True)
class Source:
    """A public file: names it goes by (the first is the one kept), where it is, and what is in it."""

    names: tuple[str, ...]
    url: str | None = None
    sha256: str | None = None
    """Of the file at `url`, which is never fetched without; what a user has put into a folder is taken as it is."""

    @property
    def downloadable(self) -> bool:
        """Whether nobody on the way could give us another file."""
        return self.url is not None and self.url.startswith("https://") and self.sha256 is not None


MNIST = Source(
    ("t10k-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte"),
    "https://ossci-datasets.s3.amazonaws.com/mnist/t10k-images-idx3-ubyte.gz",
    "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
)
TDT2 = Source(("TDT2.mat",), "http://www.cad.zju.edu.cn/home/dengcai/Data/TDT2/TDT2.mat")
SECTOR = Source(
    ("sector.scale.bz2", "sector.scale", "sector.bz2", "sector"),
    "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/sector/sector.scale.bz2",
)


def locate(source: Source, folder: str | Path | None = None, download: bool = False) -> Path:
    """The path of a data file; `DataMissing` says where it was looked for.

    Order: `folder`, the folder named by the environment variable IPDS_DATA, the cache (`cache_folder`), and, only with
    download=True, the public source, from which it is put into the cache: over https, and where its SHA-256 is known.
    """
    folders = data_folders(folder)
    for place in [*folders, cache_folder()]:
        for name in source.names:
            if (place / name).is_file():
                return place / name
    looked = " or ".join(map(str, [*folders, "the cache"]))
    public = f"; public source: {source.url}" if source.url else ""
    remedy = f"put it into a folder and name that folder (data_dir, or IPDS_DATA){public}"
    if not download or not source.downloadable:
        why = ", and is not downloaded: its source has no https or no known SHA-256" if download else ""
        raise DataMissing(f"{source.names[0]} is not in {looked}{why}; {remedy}")
    try:
        return _fetch(source, cache_folder())
    except (OSError, DataError) as error:  # URLError and timeouts are OSErrors
        reason = getattr(error, "reason", error)
        raise DataMissing(
            f"{source.names[0]} is not in {looked}, and the download from {source.url} failed ({reason}); {remedy}"
        ) from error


def data_folders(folder: str | Path | None) -> list[Path]:
    """Where users keep data: `folder`, and the folder that IPDS_DATA names, as far as they are given."""
    return [Path(place) for place in (folder, os.environ.get("IPDS_DATA")) if place]


def cache_folder() -> Path:
    """IPDS_CACHE, or `ipds` in the user's cache folder."""
    given = os.environ.get("IPDS_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ipds"


def _fetch(source: Source, folder: Path) -> Path:
    """Download into a temporary file; it gets its name only once it is complete and its checksum right."""
    assert source.url is not None
    folder.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    target = folder / source.names[0]
    with replacing(target) as out:
        with urllib.request.urlopen(source.url, timeout=TIMEOUT) as answer:
            expected = answer.headers.get("Content-Length")
            while piece := answer.read(CHUNK):
                size += len(piece)
                if size > LARGEST:
                    raise DataError(f"more than the {LARGEST} bytes accepted")
                digest.update(piece)
                out.write(piece)
        if expected is not None and expected.isdigit() and int(expected) != size:
            raise DataError(f"{size} of {expected} bytes arrived")
        if digest.hexdigest() != source.sha256:
            raise DataError(f"SHA-256 {digest.hexdigest()} instead of {source.sha256}")
    return target
