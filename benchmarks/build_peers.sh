#!/usr/bin/env sh
# build_peers.sh PYTHON: cyipopt and prox_tv, which have no wheels, built without system libraries. IPOPT and a LAPACK
# come from the wheel of CasADi, lapacke.h from that of scipy-openblas32; a C++ compiler and pkg-config must be there.
set -eu
python=$1
pip() { "$python" -m pip install --quiet --disable-pip-version-check "$@"; }
pip casadi scipy-openblas32 cffi
libraries=$("$python" -c 'import pathlib, casadi; print(pathlib.Path(casadi.__file__).parent)')
headers=$("$python" -c 'import scipy_openblas32; print(scipy_openblas32.get_include_dir())')
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
printf 'Name: ipopt\nDescription: IPOPT of CasADi\nVersion: 3.14\nLibs: -L%s -lipopt\nCflags: -I%s/include/coin-or\n' \
	"$libraries" "$libraries" >"$work/ipopt.pc"
ln -s "$libraries/libcasadi-tp-openblas.so.0" "$work/liblapack.so"
export PKG_CONFIG_PATH="$work" CFLAGS="-I$headers" CXXFLAGS="-I$headers" LDFLAGS="-L$work -Wl,-rpath,$libraries"
pip --no-deps --no-cache-dir --no-binary cyipopt,prox_tv cyipopt prox_tv
