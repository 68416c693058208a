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
# A command about i915 says so.
if "$gemtool" verify --quick >/tmp/verify 2>&1; then echo "gemtool verify took a device of xe"; exit 1; fi
grep -q "the driver 'xe'" /tmp/verify || { cat /tmp/verify; exit 1; }
exec "$@"
