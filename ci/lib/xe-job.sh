#!/bin/sh
# What ci/xe runs in a virtual machine: $1 is gemtool, $2 the binary of tests/node_xe, $3 the PAT indices to verify (empty: all), the rest the
# comparison of requests.
set -e
gemtool=$1 tests=$2 indices=$3
shift 3
"$tests"
# Tracing takes time, so each kind of device has its part of it: without local memory one alloc, which must be as predicted, with a flush of
# new pages (1 MiB: more than the driver keeps of the tests' pages) ...
traced="$gemtool trace --"
if grep -q '^create .* placement=2 .*=> ok$' "$3"; then traced=; fi
for caching in cached none; do
    trace=$traced
    [ $caching = none ] || trace=
    $trace "$gemtool" alloc --caching=$caching --size=1MiB --export >/tmp/alloc ||
        { cat /tmp/alloc; echo "gemtool alloc --caching=$caching failed"; exit 1; }
    grep -q '^ *contents *right' /tmp/alloc || { cat /tmp/alloc; echo "gemtool alloc: wrong contents"; exit 1; }
done
if [ -n "$traced" ]; then
    grep -q ' 0 mismatches, 0 not followed$' /tmp/alloc || { cat /tmp/alloc; echo "gemtool trace: not as predicted"; exit 1; }
    grep -q 'new pages *new pages *no-cpu-lines$' /tmp/alloc ||
        { cat /tmp/alloc; echo "gemtool trace: no flush of new pages"; exit 1; }
else
    # ... and with local memory some requests, whose predictions lack a rule: its refusals must differ, and nothing else.
    {
        grep -m 1 '^bind op=0 flags=0 object=wb .*=> ok$' "$3"
        grep -m 2 '^bind op=0 flags=0 object=wc .*=> ok$' "$3"
        grep -m 4 '^bind .* cached-not-snooped$' "$3"
        grep -v ' cached-not-snooped$' "$3" | awk 'NR % 50 == 0'
    } >/tmp/some-requests
    refused=$(grep -c ' cached-not-snooped$' /tmp/some-requests)
    status=0
    "$gemtool" trace --without cached-not-snooped -- "$1" "$2" /tmp/some-requests >/tmp/trace || status=$?
    if [ $status != 1 ] || [ "$refused" = 0 ] || [ "$(grep -c 'MISMATCH:' /tmp/trace)" != "$refused" ] ||
        ! grep -q " $refused mismatch.*, 0 not followed$" /tmp/trace; then
        cat /tmp/trace
        echo "gemtool trace: not the $refused refusals by the rule that is left out"
        exit 1
    fi
fi
"$gemtool" info >/tmp/info
grep -q ', xe ' /tmp/info
"$gemtool" verify --quick --caching none,cached ${indices:+--pat "$indices"} >/tmp/verify 2>&1 || { cat /tmp/verify; exit 1; }
for script in examples/scripts/xe.gemco examples/scripts/refusals.gemco; do
    "$gemtool" run "$script" >/tmp/run 2>&1 || { cat /tmp/run; echo "gemtool run $script failed"; exit 1; }
done
# A command about i915 says so.
if "$gemtool" dispatch x.spvasm >/tmp/dispatch 2>&1; then echo "gemtool dispatch took a device of xe"; exit 1; fi
grep -q "the driver 'xe'" /tmp/dispatch || { cat /tmp/dispatch; exit 1; }
exec "$@"
