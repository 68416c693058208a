"""Reads what `gemtool sim --requests --json` prints, and prints the number of requests. With an error that the lists in the files of the
arguments lack, it prints that, and fails. A line of a list: the request, the errno, and the reason."""

import json
import sys

allowed = set()
for line in (line for path in sys.argv[1:] for line in open(path)):
    words = line.split(maxsplit=2)
    if words and not line.startswith("#"):
        assert len(words) == 3, f"{line!r} has no reason"
        allowed.add((words[0], words[1]))
requests = json.load(sys.stdin)["requests"]
wrong = [
    f"{request['name'] or request['code']} {errno} {count} times"
    for request in requests
    for errno, count in request["errors"]
    if (request["name"], errno.split(":")[0]) not in allowed
]
print("; ".join(wrong) if wrong else sum(request["count"] for request in requests))
sys.exit(1 if wrong else 0)
