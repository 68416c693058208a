# Every sample script with the gemtool $1, on the device $2 or on the first there is: a JSON document each.
gemtool=$1
shift
for script in examples/scripts/*.gemco; do
    "$gemtool" run --json "$script" ${1:+--device "$1"} 2>&1 | tr -d '\n'
    echo
done
