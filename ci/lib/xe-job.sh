#!/bin/sh
# What ci/xe runs in a virtual machine: $1 is gemtool, $2 the binary of tests/node_xe, the rest the comparison of requests.
set -e
gemtool=$1 tests=$2
shift 2
"$tests"
for caching in none cached; do
    "$gemtool" alloc --caching=$caching --export >/tmp/alloc || { cat /tmp/alloc; echo "gemtool alloc --caching=$caching failed"; exit 1; }
    grep -q '^ *contents *right' /tmp/alloc || { cat /tmp/alloc; echo "gemtool alloc: wrong contents"; exit 1; }
done
"$gemtool" info >/tmp/info
grep -q ', xe ' /tmp/info
"$gemtool" verify --quick --caching none,cached >/tmp/verify 2>&1 || { cat /tmp/verify; exit 1; }
echo "gemtool verify: $(tail -n 1 /tmp/verify)"
for script in examples/scripts/xe.gemco examples/scripts/refusals.gemco; do
    "$gemtool" run "$script" >/tmp/run 2>&1 || { cat /tmp/run; echo "gemtool run $script failed"; exit 1; }
done
# A command about i915 says so.
if "$gemtool" dispatch x.spvasm >/tmp/dispatch 2>&1; then echo "gemtool dispatch took a device of xe"; exit 1; fi
grep -q "the driver 'xe'" /tmp/dispatch || { cat /tmp/dispatch; exit 1; }
exec "$@"
