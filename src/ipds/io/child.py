"""The child process: takes limits upon itself, reads one file, leaves arrays in a folder.

Run as a program. The package `ipds` is not imported as a whole: its readers need NumPy and one library.
"""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any


def limit(memory: int, seconds: int) -> None:
    """From here on: so many bytes of address space, so many seconds of processor time, no core file."""
    try:
        import resource
    except ImportError:  # not on Windows: time alone is limited there, by the parent
        return
    for what, amount in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(what)[1]
        amount = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
        try:
            resource.setrlimit(what, (amount, hard))
        except (ValueError, OSError):  # macOS refuses limits on address space
            continue


def main() -> None:
    """One request from standard input; its answer, or its error, into manifest.json."""
    request: dict[str, Any] = json.load(sys.stdin)
    limit(request["memory"], request["seconds"])
    sys.path[:] = request["modules"]
    package = types.ModuleType("ipds")
    package.__path__ = [request["package"]]
    sys.modules["ipds"] = package
    from ipds.io.errors import DataError
    from ipds.io.formats import LABELS, TASKS
    from ipds.io.packing import pack

    folder = Path(request["folder"])
    try:
        found = TASKS[request["task"]](Path(request["path"]), **request["options"])
        told: dict[str, Any] = {"result": pack(found, folder)}
    except MemoryError:
        raise
    except ImportError as error:
        told = {"error": "ImportError", "message": f"{request['name']}: {error}"}
    except DataError as error:
        told = {"error": "DataError", "message": f"{request['name']}{error}"}
    except Exception as error:  # a library's own words for a damaged file
        words = " ".join(str(error).split())[:200] or type(error).__name__
        label = LABELS.get(request["task"], request["task"])
        told = {"error": "DataError", "message": f"{request['name']}: no readable {label} file ({words})"}
    (folder / "manifest.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main()
