# Runs `gemtool alloc` in every caching mode and map mode: $1 is gemtool, $2 the device, if it is named.
# Without --caching an object is as the platform gives it, which is all that a discrete device has.
export NO_COLOR=1
gemtool=$1
device=${2:+--device=$2}
run() {
    echo "-- alloc $*"
    "$gemtool" alloc $device "$@" 2>&1 </dev/null
    echo "exit $?"
}
for caching in '' --caching=none --caching=cached --caching=display; do
    run $caching
    for map in wb wc uc gtt fixed; do
        run $caching "--map=$map" --size=12KiB
    done
    run $caching --gpu=write --mocs=bypass-llc --size=12KiB
    run $caching --scanout --export --size=12KiB
    run $caching --count=20 --size=4KiB
done
