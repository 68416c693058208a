# What ci/sanitize-vm runs in a virtual machine: $1 is the folder of gemtool, the library and the programs, $2 the programs of
# crates/programs/runtime/tests/findings. Each is a part of the output: what it prints, its status, and the report as one line of JSON.
export NO_COLOR=1
folder=$1 device=/dev/dri/renderD128
for program in $2; do
    for mode in right wrong; do
        "$folder/gemtool" sanitize --device $device --allow-nothing-judged --json --output /tmp/report -- "$folder/$program" $mode >/tmp/out 2>&1
        status=$?
        echo "== $program $mode"
        cat /tmp/out
        echo "exit $status"
        tr -d '\n' </tmp/report
        echo
    done
done
echo "== with gemtool"
"$folder/gemtool" sanitize --device $device --output /tmp/report -- "$folder/register"
echo "== without gemtool"
"$folder/register"
[ -e /dev/dri/card1 ] || exit 0
echo "== refused"
chmod 1777 /tmp
cp "$folder/gemtool" "$folder/libgem_coherency_preload.so" /tmp
for other in /dev/dri/card9 /dev/null /dev/dri/card1; do
    "$folder/gemtool" sanitize --device $other -- "$folder/register" 2>&1
    echo "exit $?"
done
setpriv --reuid=65534 --regid=65534 --clear-groups /tmp/gemtool sanitize --device $device -- "$folder/register" 2>&1
echo "exit $?"
