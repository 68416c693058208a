# What ci/i915-vm-check runs in a virtual machine: $1 is gemtool, $2 the binary of tests/node_real.
# Its output is cut at the lines "== PART". What harms the device comes last.
gemtool=$1 tests=$2
echo "== info"
"$gemtool" info --json
echo "== getparam"
python3 ci/lib/getparam.py
echo "== refused"
cp "$gemtool" /tmp/gemtool && chmod 755 /tmp/gemtool
setpriv --reuid=65534 --regid=65534 --clear-groups /tmp/gemtool info --device /dev/dri/card0 2>&1
echo "exit $?"
"$gemtool" info --device /dev/dri/card1 2>&1
echo "exit $?"
echo "== alloc"
sh ci/lib/alloc-matrix.sh "$gemtool"
echo "== node_real"
"$tests" --destructive
