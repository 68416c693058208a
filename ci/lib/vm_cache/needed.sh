# Each flush of the kernel that a rule is for, ignored in turn: does a workload (tests/workloads) read old bytes? docs/needed-flushes.md has
# the rules, with what the machine and the explorer (`gemtool check --rules`) say. The explorer is asked with --all only: `ci/model` makes
# these searches, on the platforms that stand for their class. With all flushes each workload has to be right. Each rule that flushes has a
# row, or a reason why it has none.
# shellcheck shell=bash disable=SC2034,SC2154 # ci/vm-cache reads and sets them
few_needed=(glk)
all_needed=(glk glk:7.2 jsl jsl:7.2 chv skl skl:7.2 tgl tgl:7.2 mtl)
head_needed='| machine | rule | ignored in | workload | seen | flushes ignored | verdict | explorer | note |'
needed_page=docs/needed-flushes.md

# needed_rows HEADING: the rows of the table under it, "CELL;CELL;...".
needed_rows() {
    sed -n "/^## $1\$/,/^## /s/^| *\(.*[^ ]\) *|\$/\1/p" "$needed_page" | sed '1,/^---/d; s/ *| */;/g; s/`\(__\)\?\([a-z0-9_ ]*\)`/\1\2/'
}

prepare_needed() {
    workloads=$(cargo test "${workspace[@]}" --quiet --no-run --message-format=json --test workloads |
        sed -n 's/.*"executable":"\([^"]*workloads[^"]*\)".*/\1/p')
    [ -x "$workloads" ] || fail "tests/workloads was not built"
    local machine='no machine' out=$folder/needed/rules rule reason
    mkdir -p "$out"
    while IFS=';' read -r rule reason; do skipped "$rule: $reason"; done < <(needed_rows 'Not tried')
}

# The rules by which the kernel flushes objects on $platform.
flushing_rules() {
    local object
    for object in user userptr import phys; do
        "$gemtool" explain --who kernel --table --platform "$platform" --kernel "$kernel" --object "$object" --json
    done | jq -r '.effects[] | select(.action | test("clflush|wbinvd")) | .rule' | sort -u
}

check_needed() {
    local listed line rule functions workload verdict explorer note kept seen is flushes says
    local lines=() jobs=() kept_lines=() seen_lines=() logged=()
    listed=" $({ needed_rows Tried | cut -d ';' -f 2; needed_rows 'Not tried' | cut -d ';' -f 1; } | tr '\n' ' ')"
    for rule in $(flushing_rules); do
        [[ $listed = *" $rule "* ]] || complain "$rule flushes, and is not in $needed_page"
    done
    while IFS= read -r line; do
        case " ${line%%;*} " in *" $platform "*) lines+=("$line") ;; esac
    done < <(needed_rows Tried)
    for line in "${lines[@]}"; do
        IFS=';' read -r _ rule functions workload _ <<<"$line"
        jobs+=("$workload $functions")
    done
    [ ${#jobs[@]} -gt 0 ] || { complain "$needed_page has no row for this platform"; return; }
    boot --swap --cache --cache-log "$out/log" --append mitigations=off -- \
        sh ci/lib/vm_cache/needed.job "$workloads" "${jobs[@]}" >"$out/real" 2>&1 || complain "exit status $?"
    mapfile -t kept_lines < <(grep -A 1 '^== ' "$out/real" | grep -v '^--$' | sed -n 'n; s/^[^:]*: //; p' | tr -d '\r')
    mapfile -t seen_lines < <(grep -A 2 '^== ' "$out/real" | grep -v '^--$' | sed -n 'n; n; s/^[^:]*: //; p' | tr -d '\r')
    mapfile -t logged < <(sed -n 's/^\([0-9]*\) flushes ignored in .*/\1/p' "$out/log")
    if [ "${asked[0]-}" = --all ]; then
        # Its status is 1: rules of other platforms are redundant here.
        "$gemtool" check --platform "$platform" --kernel "$kernel" --rules --json >"$out/rules" 2>/dev/null || true
    fi
    local number=0
    for line in "${lines[@]}"; do
        IFS=';' read -r _ rule functions workload verdict explorer note <<<"$line"
        kept=${kept_lines[number]-} seen=${seen_lines[number]-} flushes=${logged[number]-0}
        number=$((number + 1))
        case $seen in right) is=conservative ;; old\ *) is=needed ;; *) is=unknown ;; esac
        row "$rule" "\`$functions\`" "$workload" "$seen" "$flushes" "$is" "$explorer" "$note"
        [ "$kept" = right ] || complain "$workload with all flushes: '$kept'"
        [ "$flushes" -gt 0 ] || complain "$workload: no flush in $functions was ignored"
        [ "$is" = "$verdict" ] || complain "$rule, $workload: $is and not $verdict"
        [ -e "$out/rules" ] || continue
        says=$(jq -r --arg rule "$rule" '.rules[] | select(.rule == $rule) | .need' "$out/rules")
        [ "$says" = "$explorer" ] || complain "$rule: the explorer says '$says' and not '$explorer'"
    done
}
