# Each flush of the kernel that a rule is for, ignored in turn: does a workload (tests/workloads) see old bytes? `needed.rows` has the rules,
# and the explorer's verdict (`gemtool check --rules`), which is checked, too. With all flushes each workload has to be right.
# shellcheck shell=bash disable=SC2034,SC2154 # ci/vm-cache reads and sets them
few_needed=(glk jsl)
all_needed=(glk jsl tgl)
head_needed='| machine | rule | ignored in | workload | seen | flushes ignored | verdict | explorer | note |'

prepare_needed() {
    workloads=$(CARGO_TARGET_DIR=${CARGO_TARGET_DIR%/gemtool} cargo test --locked --quiet --no-run --message-format=json --test workloads |
        sed -n 's/.*"executable":"\([^"]*workloads[^"]*\)".*/\1/p')
    [ -x "$workloads" ] || fail "tests/workloads was not built"
}

check_needed() {
    local file=ci/lib/vm_cache/needed.rows line rule functions workload verdict explorer note kept seen is flushes says
    local lines=() jobs=() kept_lines=() seen_lines=() logged=()
    while IFS= read -r line; do
        case " ${line%%;*} " in *" $platform "*) lines+=("$line") ;; esac
    done < <(grep -v '^#' "$file")
    for line in "${lines[@]}"; do
        IFS=';' read -r _ rule functions workload _ <<<"$line"
        jobs+=("${workload# } ${functions# }")
    done
    [ ${#jobs[@]} -gt 0 ] || { complain "no row of $file is for this platform"; return; }
    boot --cache --cache-log "$out/log" --vgem --append mitigations=off -- \
        sh ci/lib/vm_cache/needed.job "$workloads" "${jobs[@]}" >"$out/real" 2>&1 || complain "exit status $?"
    mapfile -t kept_lines < <(grep -A 1 '^== ' "$out/real" | grep -v '^--$' | sed -n 'n; s/^[^:]*: //; p' | tr -d '\r')
    mapfile -t seen_lines < <(grep -A 2 '^== ' "$out/real" | grep -v '^--$' | sed -n 'n; n; s/^[^:]*: //; p' | tr -d '\r')
    mapfile -t logged < <(sed -n 's/^\([0-9]*\) flushes ignored in .*/\1/p' "$out/log")
    # Its status is 1: rules of other platforms are redundant here.
    "$gemtool" check --platform "$platform" --kernel "$kernel" --rules --json >"$out/rules" 2>/dev/null || true
    local number=0
    for line in "${lines[@]}"; do
        IFS=';' read -r _ rule functions workload verdict explorer note < <(sed 's/; */;/g' <<<"$line")
        kept=${kept_lines[number]-} seen=${seen_lines[number]-} flushes=${logged[number]-0}
        number=$((number + 1))
        case $seen in right) is=conservative ;; old\ *) is=needed ;; *) is=unknown ;; esac
        says=$(jq -r --arg rule "$rule" '.rules[] | select(.rule == $rule) | .need' "$out/rules")
        row "$rule" "\`$functions\`" "$workload" "$seen" "$flushes" "$is" "$says" "$note"
        [ "$kept" = right ] || complain "$workload with all flushes: '$kept'"
        [ "$flushes" -gt 0 ] || complain "$workload: no flush in $functions was ignored"
        [ "$is" = "$verdict" ] || complain "$rule, $workload: $is and not $verdict"
        [ "$says" = "$explorer" ] || complain "$rule: the explorer says '$says' and not '$explorer'"
    done
}
