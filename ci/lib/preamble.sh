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
# compilation: the concerns that choose these share what the first of them has built, and so do the builds that users make (explorer-bench
# gives serde a feature that no other crate has).
workspace=(--locked --workspace --exclude loom-tests --exclude explorer-bench --features gemtool/full)
# Builds gemtool and the library for programs.
build_gemtool() { cargo build --quiet "${workspace[@]}" --lib --bin gemtool; }
# part_of K/N ITEM...: prints part K of N of the items, one on a line: N machines share them by --shard.
part_of() {
    local part=${1%%/*} parts=${1#*/} number=0 item
    [[ $1 =~ ^[1-9][0-9]*/[1-9][0-9]*$ ]] && [ "$part" -le "$parts" ] || fail "--shard $1: not K/N with K from 1 to N"
    shift
    for item; do
        [ $((number % parts)) != $((part - 1)) ] || echo "$item"
        number=$((number + 1))
    done
}
# Chooses the samples of what only --all takes as a whole.
SEED=${SEED-1}
[[ $SEED =~ ^[1-9][0-9]{0,8}$ ]] || fail "SEED=$SEED: not a number from 1 on"
# sample N ITEM...: prints N of the items, one on a line, beginning with the SEEDth: a service that counts SEED up has all of them after as many
# runs as there are items.
sample() {
    local count=$1 number
    shift
    for ((number = SEED - 1; number < SEED - 1 + count; number++)); do echo "${@:number % $# + 1:1}"; done
}
# Copies the tree into the folder $1.
copy_tree() {
    rm -rf "$1"
    mkdir -p "$1"
    git ls-files --cached --others --exclude-standard | tar cf - --files-from - | tar xf - -C "$1"
}
# Takes the crates that are built on the library out of its dev-dependencies, in the copy $1: the tests of its own parts need none of them, and
# they take longer to build than the library.
without_devices() {
    sed -i -E '/^\[dev-dependencies\]/,/^\[target/{/^(gem-coherency-.*|gemtool|divan) = /d}' "$1/Cargo.toml"
}
