# Fences: with the adversary, write-combining stores and weak flushes take effect late, so that a load behind them reads old bytes; not behind a
# fence, and not without the adversary (ci/lib/vm_cache/fences.c). Uncached loads look into the CPU's own cache, so that --aliases is needed.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # the machine's shell expands; ci/vm-cache sets and reads variables
few_fences=(glk)
all_fences=(glk apl jsl tgl)
head_fences='| machine | stores past the cache, and with SFENCE | CLFLUSHOPT, and with MFENCE | the same without the adversary |'

prepare_fences() {
    local -a cflags
    read -ra cflags < <(pkg-config --cflags libdrm) || fail "no headers of libdrm"
    gcc ci/lib/vm_cache/fences.c -o "$folder/fences-program" -std=gnu11 -O1 -mclflushopt -Wall -Wextra -Werror "${cflags[@]}"
}

# fences [OPTION...]: what the program prints in its four modes, in a line each.
fences() {
    boot --aliases "$@" -- sh -c 'for mode in wc "wc fence" weak "weak fence"; do "$0" /dev/dri/renderD128 $mode; done' "$folder/fences-program"
}

check_fences() {
    local -a late now
    mapfile -t late < <(fences --adversary 1)
    mapfile -t now < <(fences)
    row "${late[0]-}, ${late[1]-}" "${late[2]-}, ${late[3]-}" "$(printf '%s\n' "${now[@]}" | sort -u | paste -sd ,)"
    # Now and then one takes effect at once.
    # shellcheck disable=SC2053 # a pattern
    [[ ${late[*]} = [1-9]*' of 1024 old 0 of 1024 old '[1-9]*' of 1024 old 0 of 1024 old' ]] || complain "with the adversary"
    [ "${now[*]}" = '0 of 1024 old 0 of 1024 old 0 of 1024 old 0 of 1024 old' ] || complain "without the adversary"
}
