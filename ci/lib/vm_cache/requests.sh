# The claims of crates/programs/runtime/tests/memory.c about memory that requests use, on the real driver: each holds, and there are as many as on
# the software device of the platform, where ci/programs checks them.
# shellcheck shell=bash disable=SC2034,SC2154 # ci/vm-cache sets and reads variables
few_requests=(mtl)
all_requests=(bdw glk glk:7.2 jsl tgl dg2 mtl mtl:7.2)
head_requests='| machine | claims |'

prepare_requests() {
    local -a cflags
    read -ra cflags < <(pkg-config --cflags libdrm) || fail "no headers of libdrm"
    gcc -std=gnu11 "${cflags[@]}" -Wall -Wextra -Werror crates/programs/runtime/tests/memory.c -o "$folder/memory"
}

check_requests() {
    boot -- "$folder/memory" "$kernel" >"$out/machine" 2>&1 || { complain "a claim is wrong on the driver"; cat "$out/machine"; }
    "$gemtool" sim "$platform,kernel=$kernel" -- "$folder/memory" "$kernel" >"$out/soft" 2>&1 || complain "a claim is wrong on the software device"
    diff "$out/machine" "$out/soft" || complain "the claims differ: < on the driver, > on the software device"
    row "$(awk '/^[1-9][0-9]* claims$/ { print $1 }' "$out/machine")"
}
