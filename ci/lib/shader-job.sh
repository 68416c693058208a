# The part of ci/i915-vm-check that runs shaders in a virtual machine: $1 is gemtool, $2 the folder that ci/lib/shader_cases.py prepared. Its
# output is cut at the lines "== PART".
gemtool=$1 shaders=$2
echo "== shaders"
sh ci/lib/shaders.sh "$gemtool" "$shaders"
echo "== endless shader"
# The driver notices it sooner. The second one is missing without preemption.
settings=$(ls /sys/class/drm/card*/engine/rcs0/heartbeat_interval_ms /sys/class/drm/card*/engine/rcs0/preempt_timeout_ms 2>/dev/null)
for setting in $settings; do
    cat "$setting" >"/tmp/${setting##*/}"
    echo 200 >"$setting"
done
"$gemtool" dispatch "$shaders/endless.spv" --surface 0=64 2>&1
echo "exit $?"
for setting in $settings; do
    cat "/tmp/${setting##*/}" >"$setting"
done
