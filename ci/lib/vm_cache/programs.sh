# The programs of crates/programs/runtime/tests/findings, without a tool: in the mode `wrong` the other agent gets as many lines with old
# bytes as the table `expected` there says, or the file ci/lib/vm_cache/findings; in the mode `right` none, but without its flushes. The
# programs of a screen count no lines, and are left out. The programs without their flushes run with --all and where a machine is named.
# Where CPU and GPU share a cache nothing is old; without `run --cache` neither, which --all checks on glk. A store through a WC mapping is
# seen by loads of the same CPU if that looks its own caches up: `async_map` counts the same lines with `selfsnoop=on` and `selfsnoop=off`
# as in the machine without and with `run --aliases`.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # the machine's shell expands; ci/vm-cache sets and reads variables
few_programs=(glk)
all_programs=(glk glk:7.2 apl jsl jsl:7.2 tgl)
head_programs='| machine | programs | with old bytes | old lines | without the flushes |'

prepare_programs() {
    local program tests=crates/programs/runtime/tests/findings
    local -a cflags
    read -ra cflags < <(pkg-config --cflags libdrm) || fail "no headers of libdrm"
    cflags+=(-std=gnu11 -g -O1 -Wall -Wextra -Werror)
    mkdir "$folder/findings"
    awk -v changed=ci/lib/vm_cache/findings 'BEGIN { while ((getline <changed) > 0) if (!/^#/) other[$1] = $2 " " $3 }
        !/^#/ && $1 !~ /^scanout/ { print $1, 0, $1 in other ? other[$1] : $6 " " $7 }' $tests/expected >"$folder/findings.expected"
    while read -r program _; do
        gcc "$tests/$program.c" -o "$folder/findings/$program" "${cflags[@]}"
        if [ "${asked[*]}" ]; then gcc "$tests/$program.c" -o "$folder/findings/$program-unflushed" "${cflags[@]}" -DNO_FLUSH; fi
    done <"$folder/findings.expected"
    gcc $tests/async_map.c -o "$folder/async_map-wc" "${cflags[@]}" -DPAST=I915_MMAP_OFFSET_WC
}

# old_lines [OPTION...]: for each program, how many old lines it counts: in the modes right and wrong, and, if it was built, without its
# flushes.
old_lines() {
    boot "$@" -- sh -c 'cd "$0" && for program in *; do
        case $program in *-unflushed) continue ;; esac
        echo "$program" $(./$program right 2>&1; ./$program wrong 2>&1; [ ! -e $program-unflushed ] || ./$program-unflushed right 2>&1)
    done' "$folder/findings" | sed 's/old: //g'
}

check_programs() {
    case $platform in
        jsl | tgl) awk '{ print $1, 0, 0, 0 }' "$folder/findings.expected" ;;
        *) cat "$folder/findings.expected" ;;
    esac | if [ "${asked[*]}" ]; then cat; else cut -d ' ' -f 1-3; fi | sort >"$out/expected"
    old_lines --cache | sort >"$out/cached"
    diff "$out/expected" "$out/cached" >"$out/differences" || { complain "old lines: < expected, > in the machine"; cat "$out/differences"; }
    row "$(awk 'END { print NR }' "$out/cached")" "$(awk '$3 { n++ } END { print n + 0 }' "$out/cached")" \
        "$(awk '{ n += $3 } END { print n }' "$out/cached")" "$(awk '{ n += $4; any = NF > 3 } END { print any ? n : "-" }' "$out/cached")"

    [ "$platform" = glk ] || return 0
    local value
    local -A option=([on]=--cache [off]=--aliases)
    for value in on off; do
        boot "${option[$value]}" -- "$folder/async_map-wc" wrong >"$out/machine-$value"
        "$gemtool" sim glk,selfsnoop=$value -- "$folder/async_map-wc" wrong >"$out/soft-$value"
    done
    [ "$(cat "$out"/machine-{on,off} "$out"/soft-{on,off})" = $'old: 0\nold: 3\nold: 0\nold: 3' ] ||
        { complain "async_map through WC"; head "$out"/machine-{on,off} "$out"/soft-{on,off}; }

    [ "$machine ${asked[*]}" = 'glk --all' ] || return 0
    old_lines | sort >"$out/coherent"
    diff <(awk '{ print $1, 0, 0, 0 }' "$out/expected") "$out/coherent" >"$out/differences" ||
        { complain "old lines without the cache"; cat "$out/differences"; }
}
