# The xe driver (6.12 and later) over the same cache: for each PAT index, what the GPU reads of the CPU's stores, what the CPU reads of the
# GPU's, and what the GPU finds in a new object; write-back objects by an index that does not snoop are refused (ci/lib/xe.py). As a control,
# the kernel's one flush, of a new object's pages when they become write-combining (cpa_flush), is ignored where the GPU does not share the
# CPU's cache: then the GPU finds old bytes by each index that does not snoop, and by no other. Free pages are poisoned in both, so that memory
# has no zeroes below them.
# shellcheck shell=bash disable=SC2034,SC2154 # ci/vm-cache reads and sets them
few_xe=(mtl)
all_xe=(tgl tgl:7.2 rkl adls dg1 dg1:7.2 dg2 dg2:7.2 mtl mtl:7.2 lnl lnl:7.2 ptl:7.2 bmg:7.2)
head_xe='| machine | rows of PAT index and object | checks | without the flush, found old bytes by |'

prepare_xe() { :; }

check_xe() {
    local control='not applicable' refused
    boot --driver xe --cache --append page_poison=on -- python3 "$PWD/ci/lib/xe.py" >"$out/xe" 2>&1 || complain "ci/lib/xe.py: exit status $?"
    if ! grep -q ', 0 failed, ' "$out/xe"; then cat "$out/xe"; fi
    case $platform in
        mtl | lnl | ptl)
            boot --driver xe --cache --append page_poison=on --ignore-flush cpa_flush -- python3 "$PWD/ci/lib/xe.py" >"$out/control" 2>&1 || true
            # The indices by which a write-combining object may be bound, and a write-back one may not.
            refused=$(awk '$2 == "system" && $3 == "WB" && $4 == "EINVAL" { none[$1] = 1 }
                $2 == "system" && $3 == "WC" && $4 == "bound" && none[$1] { print $1 }' "$out/control" | sort -n | xargs)
            control=$(sed -n 's/^failed: PAT \([0-9]*\), system, WC: fresh: .*/\1/p' "$out/control" | sort -n | xargs)
            [ -n "$refused" ] && [ "$control" = "$refused" ] && ! grep -v ': fresh: ' "$out/control" | grep -q '^failed: ' ||
                complain "without cpa_flush, old bytes by the indices '$control', not '$refused'"
            ;;
    esac
    row "$(grep -c '^[0-9]* *\(system\|local\)' "$out/xe")" "$(tail -n 1 "$out/xe")" "$control"
}
