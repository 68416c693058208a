# What ci/i915-vm-check runs in a virtual machine: $1 is gemtool, $2 the binary of tests/node_real.
# Its output is cut at the lines "== PART". What harms the device comes last.
gemtool=$1 tests=$2
echo "== info"
"$gemtool" info --json
echo "== getparam"
python3 ci/lib/getparam.py
echo "== alloc"
sh ci/lib/alloc-matrix.sh "$gemtool"
echo "== node_real"
"$tests" --destructive
