# The display of the xe driver over the same cache, by the CRCs of what it reads. `gemtool scanout` shows buffers of each caching mode: with the
# library all pictures are right, without its flushes those of write-back buffers are stale, and no others; a discrete device refuses write-back
# ones. tests/node_xe shows new objects, below whose zeroes memory is poisoned.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # the machine's shell expands; ci/vm-cache sets and reads variables
few_xe_display=(tgl)
all_xe_display=({tgl,rkl,adls,dg1}{,:7.2})
head_xe_display='| machine | cached | without flushes | none | without | display | without | dumb | without | tests/node_xe |'
buffers_xe=('--caching cached' '--caching none' '--caching display' '--buffer dumb')

prepare_xe_display() {
    local tests
    tests=$(cargo test "${workspace[@]}" --quiet --no-run --message-format=json --test node_xe |
        sed -n 's/.*"executable":"\([^"]*node_xe[^"]*\)".*/\1/p')
    cp "$tests" "$folder/node_xe"
}

# A line for each buffer and choice of flushes: what `gemtool scanout` says last, or its error. Then the tests.
shows_xe='gemtool=$0 tests=$1; shift
    for buffer; do for flushes in "" --no-flush; do
        echo "$buffer $flushes: $(NO_COLOR=1 "$gemtool" scanout --frames cpu,cpu,cpu,partial $buffer $flushes 2>&1 | grep "^library:\|^error:")"
    done; done; "$tests"'

check_xe_display() {
    local display=1 cells=() buffer flushes expected cell tests
    boot --driver xe --cache --vgem --append page_poison=on -- sh -c "$shows_xe" "$gemtool" "$folder/node_xe" "${buffers_xe[@]}" \
        >"$out/xe" 2>&1 || complain "exit status $?"
    for buffer in "${buffers_xe[@]}"; do
        for flushes in '' --no-flush; do
            cell=$(sed -n "s/^$buffer $flushes: .* \(EREMOTE\|all [0-9]* pictures right\|[0-9][0-9]* of [0-9]* pictures WRONG\).*/\1/p" "$out/xe")
            case $platform:$buffer:$flushes in
                dg1:*cached:*) expected=EREMOTE ;;
                *cached:--no-flush) expected='*WRONG' ;;
                *) expected='all * right' ;;
            esac
            # shellcheck disable=SC2053 # a pattern
            [[ $cell = $expected ]] || complain "$buffer $flushes: '$(grep -e "^$buffer $flushes:" "$out/xe")', not '$expected'"
            cells+=("${cell/pictures /}")
        done
    done
    tests=$(sed -n 's/^\([1-9][0-9]* passed, .* skipped\)/\1/p' "$out/xe")
    grep -q '^ok  *a new object is shown as zeroes' "$out/xe" || complain "$(grep -A 3 'panicked\|^FAILED' "$out/xe")"
    row "${cells[@]}" "$tests"
}
