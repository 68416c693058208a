# The xe driver (6.12 and later) over the same cache: for each PAT index, what the GPU reads of the CPU's stores, what the CPU reads of the
# GPU's, and what the GPU finds in a new object; write-back objects by an index that does not snoop are refused (ci/lib/xe.py).
# shellcheck shell=bash disable=SC2034,SC2154 # ci/vm-cache reads and sets them
few_xe=(mtl)
all_xe=(tgl rkl adls dg1 dg2 mtl)
head_xe='| machine | rows of PAT index and object | checks |'

prepare_xe() { :; }

check_xe() {
    boot --driver xe --cache -- python3 "$PWD/ci/lib/xe.py" >"$out/xe" 2>&1 || complain "ci/lib/xe.py: exit status $?"
    row "$(grep -c '^[0-9]* *\(system\|local\)' "$out/xe")" "$(tail -n 1 "$out/xe")"
    if ! grep -q ', 0 failed, ' "$out/xe"; then cat "$out/xe"; fi
}
