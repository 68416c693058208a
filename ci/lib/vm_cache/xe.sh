# The xe driver (6.12 and later) over the same cache: for each PAT index, what the GPU reads of the CPU's stores, what the CPU reads of the
# GPU's, and what the GPU finds in a new object; write-back objects by an index that does not snoop are refused (ci/lib/xe.py). As a control,
# the kernel's one flush, of a new object's pages when they become write-combining (cpa_flush), is ignored where the GPU does not share the
# CPU's cache: then the GPU finds old bytes by each index that does not snoop, and by no other. Free pages are poisoned in both, so that memory
# has no zeroes below them. `gemtool verify` must find both, too.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # the machine's shell expands; ci/vm-cache reads and sets variables
few_xe=(mtl)
all_xe=(tgl tgl:7.2 rkl adls dg1 dg1:7.2 dg2 dg2:7.2 mtl mtl:7.2 lnl lnl:7.2 ptl:7.2 bmg:7.2)
head_xe='| machine | rows of PAT index and object | checks | without the flush, found old bytes by | gemtool verify |'

prepare_xe() { :; }

check_xe() {
    local control='not applicable' machine_options=(--driver xe --cache --append page_poison=on) refused again
    # Without a terminal there is no progress bar.
    local verify=(sh -c '"$0" verify --quick --caching none,cached --json 2>/tmp/errors || { [ $? = 1 ] || cat /tmp/errors; }' "$gemtool")
    boot "${machine_options[@]}" -- python3 "$PWD/ci/lib/xe.py" >"$out/xe" 2>&1 || complain "ci/lib/xe.py: exit status $?"
    if ! grep -q ', 0 failed, ' "$out/xe"; then cat "$out/xe"; fi
    boot "${machine_options[@]}" -- "${verify[@]}" >"$out/verify"
    [ "$(jq .passed "$out/verify")" = true ] || complain "gemtool verify: $(jq -c '.totals, .refused' "$out/verify")"
    case $platform in
        mtl | lnl | ptl)
            machine_options+=(--ignore-flush cpa_flush)
            boot "${machine_options[@]}" -- python3 "$PWD/ci/lib/xe.py" >"$out/control" 2>&1 || true
            boot "${machine_options[@]}" -- "${verify[@]}" >"$out/again"
            # The indices by which a write-combining object may be bound, and a write-back one may not.
            refused=$(awk '$2 == "system" && $3 == "WB" && $4 == "EINVAL" { none[$1] = 1 }
                $2 == "system" && $3 == "WC" && $4 == "bound" && none[$1] { print $1 }' "$out/control" | sort -n | xargs)
            control=$(sed -n 's/^failed: PAT \([0-9]*\), system, WC: fresh: .*/\1/p' "$out/control" | sort -n | xargs)
            [ -n "$refused" ] && [ "$control" = "$refused" ] && ! grep -v ': fresh: ' "$out/control" | grep -q '^failed: ' ||
                complain "without cpa_flush, old bytes by the indices '$control', not '$refused'"
            # gemtool does not measure what compresses.
            again=$(jq -r '[.rows[] | select(any(.accesses[]; .kind == "fresh" and .["library"] != "right")) | .pat_index] | @sh' "$out/again")
            refused=$(jq -r '[.rows[] | select(.object.cpu_caching == "wc" and .accesses != [] and .coherency == "none") | .pat_index] | @sh' "$out/again")
            [ -n "$refused" ] && [ "$again" = "$refused" ] || complain "without cpa_flush, gemtool finds old bytes by '$again', not '$refused'"
            [ "$(jq '[.rows[].accesses[] | select(.kind != "fresh" and .["library"] != "right")] | length' "$out/again")" = 0 ] ||
                complain "without cpa_flush, gemtool finds old bytes of objects that are not new"
            ;;
    esac
    row "$(grep -c '^[0-9]* *\(system\|local\)' "$out/xe")" "$(tail -n 1 "$out/xe")" "$control" \
        "$(jq -r '.totals | "\(.passed) passed, \(.failed) failed, \(.skipped) skipped"' "$out/verify")"
}
