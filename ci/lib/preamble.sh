# What every concern starts with: fail on the first error, stand in the repository's root, and three ways to end:
# by running to the end (passed), `skip REASON`, or `fail REASON`.
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Ends the concern as skipped; 77 is what ci/test takes for a skip, and the last line for its reason.
skip() { echo "$*"; exit 77; }
# Ends the concern as failed; the last line is the reason.
fail() { echo "$*" >&2; exit 1; }
# The packages of ci/unit, with the benchmarks. The choice of packages decides the features of each crate, and other features are another
# compilation: the concerns that choose these share what the first of them has built.
workspace=(--locked --workspace --exclude loom-tests --features gemtool/full)
# Builds gemtool and the library for programs.
build_gemtool() { cargo build --quiet "${workspace[@]}" --lib --bin gemtool; }
