# `gemtool verify`, on the machine and on the software i915: the same table, cell by cell.
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # ci/vm-cache reads and sets them
few_verify=(glk jsl)
all_verify=(glk apl chv vlv ilk gm45 i945gm i915g i965gm i965g skl icl tgl bdw hsw ivb snb rkl adls jsl ehl dg1 dg2 mtl)
head_verify='| machine | rows |'

prepare_verify() { :; }

check_verify() {
    boot --cache -- sh -c '"$0" verify --quick --json 2>/tmp/errors' "$gemtool" >"$out/real" || complain "gemtool verify"
    row "$(jq '.rows | length' "$out/real")"
}
