# `gemtool scanout` on the driver and on the software i915: the display reads the same pictures, by their CRCs. With the library all are right.
# With --no-flush the same ones are stale. Without the kernel's flush for scanout more of them are, where it has one. Without a cache
# none is (with --all, and where a machine is named).
# shellcheck shell=bash disable=SC2034,SC2154 # ci/vm-cache reads and sets them
few_scanout=(skl)
all_scanout=()
for platform in glk apl skl icl tgl jsl ehl bdw hsw; do all_scanout+=("$platform" "$platform:6.1"); done
all_scanout+=(glk:7.2 skl:7.2)
head_scanout='| machine | with the library | without | and without the kernel'\''s flush | without, no cache |'

prepare_scanout() { :; }

# Both buffers are drawn twice by the CPU, because the kernel may flush them when they are shown for the first time.
shown=(scanout --json --map wb --frames 'cpu,cpu,cpu,partial,gpu,partial')
# The function that flushes an object for the display.
worker=clflush_work

# software NAME ARGUMENT...: what the software i915 shows; the first argument may add to the device's name.
software() {
    local name=$1 device="sim:$platform,kernel=$kernel,display=on$2"
    shift 2
    "$gemtool" "${shown[@]}" --device "$device" "$@" >"$out/soft-$name" || true
}
# compare NAME: the cell of the driver's $out/real-NAME beside $out/soft-NAME. Sets `cell`.
compare() { cell=$(python3 ci/lib/vm_cache/scanout.py "$out/soft-$1" "$out/real-$1" 2>&1) || complain "$1: ${cell:-no comparison}"; }

check_scanout() {
    local cell cells=() display=1
    # shellcheck disable=SC2016 # the shell of the machine expands it
    boot --cache -- sh -c '"$@" 2>/dev/null; echo "== bare"; "$@" --no-flush 2>/dev/null; true' sh "$gemtool" "${shown[@]}" >"$out/both"
    sed '/^== bare$/,$d' "$out/both" >"$out/real-library"
    sed '1,/^== bare$/d' "$out/both" >"$out/real-bare"
    software library ''
    software bare '' --no-flush
    compare library
    cells+=("$cell")
    [[ $cell = all* ]] || complain "the library leaves pictures stale: $cell"
    compare bare
    cells+=("$cell")
    [[ $cell = *stale ]] || complain "without flushes no picture is stale: $cell"

    software ignored ,without=scanout-flush --no-flush
    if cmp -s <(python3 ci/lib/vm_cache/scanout.py "$out/soft-bare" "$out/soft-bare") <(python3 ci/lib/vm_cache/scanout.py "$out/soft-ignored" "$out/soft-ignored"); then
        cells+=('the same: it has none')
    else
        boot --ignore-flush "$worker" -- "$gemtool" "${shown[@]}" --no-flush >"$out/real-ignored" 2>/dev/null || true
        compare ignored
        cells+=("$cell")
    fi

    if [ "${asked[*]}" ]; then
        boot -- "$gemtool" "${shown[@]}" --no-flush >"$out/real-coherent" 2>/dev/null || true
        software coherent ,memory=coherent --no-flush
        compare coherent
        [[ $cell = all* ]] || complain "pictures are stale without a cache: $cell"
    else
        cell=-
    fi
    cells+=("$cell")
    row "${cells[@]}"
}
