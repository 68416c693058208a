# What ci/i915-vm-check runs in a virtual machine: $1 is gemtool, $2 the binary of tests/node_real, $3 the rule by which
# a new object is flushed here, if the trace is to be checked, $4 the folder of shaders, if the GPU runs any.
# Its output is cut at the lines "== PART". What harms the device comes last.
# The machine's output is a terminal; colours would hide the words.
export NO_COLOR=1
gemtool=$1 tests=$2 rule=$3 shaders=$4
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
echo "== verify"
# Without a terminal there is no progress bar.
"$gemtool" verify --quick >/tmp/verify 2>&1
status=$?
cat /tmp/verify
echo "exit $status"
echo "== hard calls"
"$gemtool" trace -- python3 ci/lib/hard_calls.py
echo "exit $?"
if [ -n "$rule" ]; then
    for flags in "" "--without $rule"; do
        echo "== trace $flags"
        "$gemtool" trace $flags -- "$gemtool" alloc --caching=none
        echo "exit $?"
    done
    echo "== traced alloc"
    "$gemtool" alloc --caching=none --trace
    echo "exit $?"
    echo "== trace refused"
    setpriv --reuid=65534 --regid=65534 --clear-groups /tmp/gemtool trace 2>&1
    echo "exit $?"
    echo "== left behind"
    cat /sys/kernel/tracing/kprobe_events
    ls /sys/kernel/tracing/instances
fi
echo "== scripts"
sh ci/lib/scripts.sh "$gemtool"
[ -z "$shaders" ] || sh ci/lib/shader-job.sh "$gemtool" "$shaders"
echo "== node_real"
"$tests" --destructive
