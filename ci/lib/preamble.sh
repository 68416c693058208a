# What every concern starts with: fail on the first error, stand in the repository's root, and three ways to end:
# by running to the end (passed), `skip REASON`, or `fail REASON`.
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Ends the concern as skipped; 77 is what ci/test takes for a skip, and the last line for its reason.
skip() { echo "$*"; exit 77; }
# Ends the concern as failed; the last line is the reason.
fail() { echo "$*" >&2; exit 1; }
# Builds gemtool and the library for programs where the concerns of no other lane build; CARGO_TARGET_DIR names that folder then.
build_gemtool_apart() {
    export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/gemtool"
    cargo build --locked --quiet --package gemtool --package gem-coherency-preload
}
