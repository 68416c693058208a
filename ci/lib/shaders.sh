# Dispatches the shaders of the folder $2, which ci/lib/shader_cases.py prepared, with the gemtool $1, on the device $3 or on the first
# there is. A line each: the name, and a JSON document or the error.
gemtool=$1 folder=$2
shift 2
while read -r name module arguments; do
    # shellcheck disable=SC2086 # they are several
    echo "$name $("$gemtool" dispatch "$module" $arguments --flush --json ${1:+--device "$1"} 2>&1 | tr -d '\n')"
done <"$folder/cases"
