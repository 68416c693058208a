# Fences: with the adversary, write-combining stores and weak flushes take effect late, so that a load after them reads old bytes; not after a
# fence, and not without the adversary (ci/lib/vm_cache/fences.c). The loads after weak flushes are uncached, and would look into the CPU's own
# cache without --aliases. A non-temporal store to a half of a line leaves the other half, which was written behind the cache, also if it is
# late; not if a byte of the line is dirty.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # the machine's shell expands; ci/vm-cache sets and reads variables
few_fences=(glk)
all_fences=(glk glk:7.2 apl jsl jsl:7.2 tgl)
head_fences='| machine | stores past the cache, and with SFENCE | CLFLUSHOPT, and with MFENCE | both without the adversary | halves of lines lost, and with a dirty byte |'

prepare_fences() {
    local -a cflags
    read -ra cflags < <(pkg-config --cflags libdrm) || fail "no headers of libdrm"
    gcc ci/lib/vm_cache/fences.c -o "$folder/fences-program" -std=gnu11 -O1 -mclflushopt -Wall -Wextra -Werror "${cflags[@]}"
}

# fences MODE WORD [OPTION...]: what the program prints in this mode, without and with the word.
fences() {
    boot "${@:3}" -- sh -c '"$0" /dev/dri/renderD128 "$1"; "$0" /dev/dri/renderD128 "$1" "$2"' "$folder/fences-program" "$1" "$2" | paste -sd ,
}

check_fences() {
    local wc weak halves coherent=-
    wc=$(fences wc fence --adversary 1)
    weak=$(fences weak fence --adversary 1 --aliases)
    halves=$(fences around dirty --adversary 1 --aliases)
    if [ "${asked[*]}" ]; then coherent="$(fences wc fence --cache),$(fences weak fence --aliases)"; fi
    row "$wc" "$weak" "$coherent" "$halves"
    # Now and then one takes effect at once.
    # shellcheck disable=SC2053 # a pattern
    [[ "$wc $weak" = [1-9]*' of 1024 old,0 of 1024 old '[1-9]*' of 1024 old,0 of 1024 old' ]] || complain "with the adversary"
    # shellcheck disable=SC2053 # a pattern
    [[ $halves = '0 of 1024 old,'[1-9]*' of 1024 old' ]] || complain "halves of lines"
    [[ $coherent = - || $coherent = '0 of 1024 old,0 of 1024 old,0 of 1024 old,0 of 1024 old' ]] || complain "without the adversary"
}
