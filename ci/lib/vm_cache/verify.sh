# `gemtool verify` on the machine and on the software i915: with the library's and with the kernel's flushes everything is right on both,
# also while the adversary moves lines; without flushes, old bytes show in the same cells, but for the reasons in ci/lib/vm_cache/reasons.
# With --all on glk: flushes that the library leaves out are noticed with the cache, and without it are not.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # the machine's shell expands; ci/vm-cache sets and reads variables
few_verify=(glk)
all_verify=(glk glk:7.2 apl chv vlv ilk gm45 i945gm i915g i965gm i965g skl icl tgl tgl:7.2 bdw bdw:7.2 hsw hsw:7.2 ivb snb rkl adls jsl jsl:7.2 ehl dg1 dg2 mtl)
head_verify='| machine | cells | old on both | old with the adversary | differ, with a reason |'

prepare_verify() { python3 ci/lib/vm_cache/compare_verify.py --self-test; }

# verify_to FILE [OPTION...]: the table of a machine with these options; what gemtool says of the measurements is compared later.
verify_to() {
    local file=$1
    shift
    boot "$@" -- sh -c '"$0" verify --quick --json 2>/tmp/errors || { [ $? = 1 ] || cat /tmp/errors; }' "$gemtool" >"$file"
}

# forgets [OPTION...]: the exit statuses of measurements in which the library leaves out its flushes, and its invalidates.
forgets() {
    boot "$@" -- sh -c 'for words in "--write cpu-wb --read gpu-blit --forget flush" "--write gpu-store --read cpu-wb --forget invalidate"; do "$0" verify --quick --caching none $words >/tmp/out 2>&1; echo $?; done' "$gemtool" |
        paste -sd ' '
}

# Whether the machine is measured with the adversary, too.
has_adversary() { [ "${asked[*]}" ] || [ "$machine" = glk ]; }

check_verify() {
    local device=sim:$platform,kernel=$kernel name options
    verify_to "$out/machine" --cache
    if has_adversary; then verify_to "$out/adversary" --adversary 1; fi
    while IFS=$'\t' read -r name options; do
        # shellcheck disable=SC2086 # several options
        verify_to "$out/$name" $options
    done < <(python3 ci/lib/vm_cache/compare_verify.py --runs "$platform" machine)
    while IFS=$'\t' read -r name options; do
        "$gemtool" verify --quick --json --device "$device,${options:+$options,}adversary=off" >"$out/$name" 2>"$out/errors" || [ $? = 1 ]
    done < <(printf 'sim\t\n'; python3 ci/lib/vm_cache/compare_verify.py --runs "$platform" sim)

    if python3 ci/lib/vm_cache/compare_verify.py "$platform" "$out" >"$out/counts" 2>"$out/problems"; then :; else
        complain "gemtool verify differs"
        head -n 40 "$out/problems"
    fi
    IFS=$'\t' read -r cells both explained <"$out/counts"
    if ! has_adversary; then
        row "$cells" "$both" - "$explained"
        return
    fi
    row "$cells" "$both" "$(jq .totals.stale "$out/adversary")" "$explained"

    [ "$machine ${asked[*]}" = 'glk --all' ] || return 0
    [ "$(forgets --cache)" = '1 1' ] || complain "flushes that the library leaves out are not noticed"
    [ "$(forgets)" = '0 0' ] || complain "without the cache, a missing flush is noticed"
}
