"""Print the profile of one file."""

import json
import sys

import sandpiper.profile

p = json.loads(sys.argv[1])
found = sandpiper.profile.files([p["path"]])
print(sandpiper.profile.text(found, values=p["values"], budget=p["most"]))
