# The stale pages of Jasper Lake and Elkhart Lake, by two processes of examples/stale_pages (docs/stale-pages.md): a victim's freed pages, read
# by an attacker's GPU past the LLC, through MOCS entry 16. Kernels that do not flush new pages leak them, the others do not, and
# leak them as soon as their flush is ignored; through entry 2, which the LLC serves, none is read. The explorer has to say
# the same of each kernel, with a MOCS table that has the entry. 5.10's own has none that goes past the LLC: there, `run --bypass 16`
# makes it one. Without that option the GPU reads zeros under 5.10, too, as the explorer says of its own table.
# shellcheck shell=bash disable=SC2034,SC2154 # ci/vm-cache reads and sets them
few_leak=(jsl:5.10 jsl)
all_leak=(jsl:5.10 ehl:5.10 jsl:6.1 ehl:6.1 jsl ehl jsl:7.2 ehl:7.2)
head_leak='| machine | explorer, with entry 16 and by its own table | stale dwords by entry 16, and by entry 2 | by its own table | the flush on acquire ignored |'

prepare_leak() {
    cargo build --quiet "${workspace[@]}" --example stale_pages
    stale_pages=$(readlink -f "${CARGO_TARGET_DIR:-target}/debug/examples/stale_pages")
}

# attack LOG ENTRY... -- [OPTION...]: runs a victim and an attacker for each entry, in one machine; prints how many dwords that the GPU read
# are not zero, and of how many.
attack() {
    local log=$1 entries=() status=0
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        entries+=("$1")
        shift
    done
    # shellcheck disable=SC2016 # the machine's shell expands it
    boot --cache "${@:2}" -- sh -c 'for entry; do "$0" victim --objects 4; "$0" attacker --objects 4 --entry "$entry"; done' \
        "$stale_pages" "${entries[@]}" >"$log" 2>&1 || status=$?
    [ "$status" != 77 ] || return 0
    awk '/^attacker: / { part++ } /^  .* dwords$/ { all[part] += $(NF - 1); if ($1 != "zeros") stale[part] += $(NF - 1) }
        END { for (one = 1; one <= part; one++) printf "%s%d of %d", (one > 1 ? ", " : ""), stale[one], all[one] }' "$log"
}

# says OPTION...: what the explorer says of a hostile caller.
says() {
    local status=0
    "$gemtool" check --platform "$platform" --kernel "$kernel" --caller hostile "$@" >"$out/check" 2>&1 || status=$?
    [ "$status" -le 1 ] || complain "gemtool check: $(tail -n 1 "$out/check")" >&2
    if [ "$status" = 1 ] && grep -q 'no-leak' "$out/check"; then echo leak; else echo none; fi
}

check_leak() {
    local says own read by_own ignored=- wanted
    says=$(says --mocs-table 6.1)
    own=$(says)
    read=$(attack "$out/read" 16 2 -- --bypass 16)
    if [ -z "$read" ]; then
        skipped "$(tail -n 1 "$out/read")"
        return
    fi
    by_own=$(attack "$out/own" 16 --)
    [ "$says" = leak ] || ignored=$(attack "$out/ignored" 16 -- --bypass 16 --ignore-flush __i915_gem_object_set_pages)
    row "$says, $own" "$read" "$by_own" "$ignored"
    wanted="leak none [1-9]* of *, 0 of [1-9]* 0 of [1-9]* -"
    [ "$kernel" = 5.10 ] || wanted="none none 0 of [1-9]*, 0 of [1-9]* 0 of [1-9]* [1-9]* of *"
    # shellcheck disable=SC2053 # a pattern
    if [[ "$says $own $read $by_own $ignored" != $wanted ]]; then
        complain "not '$wanted'"
        cat "$out/read" "$out/own" "$out/ignored" 2>/dev/null
    fi
}
