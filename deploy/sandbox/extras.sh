#!/bin/sh
# Installs requirements.txt with pip, and leaves it out where no index answers.
# What was installed shows in the image's inventory.
set -u
cd /usr/share/sandpiper
if ! { apt-get update && apt-get install -y --no-install-recommends python3-pip; } >/dev/null 2>&1; then
    echo "extras: left out, pip cannot be installed"
    exit 0
fi
while read -r line; do
    case "$line" in '' | '#'*) continue ;; esac
    echo "$line" >one.txt
    if pip install --quiet --break-system-packages --no-cache-dir --no-deps --only-binary :all: --require-hashes \
        --retries 0 --timeout 15 --root-user-action ignore -r one.txt 2>pip.log; then
        echo "extras: installed ${line%% *}"
    elif grep -q 'DO NOT MATCH' pip.log; then
        echo "extras: the index offers another file for ${line%% *} than the locked one" >&2
        cat pip.log >&2
        exit 1
    else
        echo "extras: left out ${line%% *}, no index answers"
    fi
done <requirements.txt
rm -f one.txt pip.log
apt-get purge -y python3-pip >/dev/null 2>&1
apt-get autoremove -y >/dev/null 2>&1
rm -rf /var/lib/apt/lists/* /var/cache/apt/archives/*.deb /root/.cache
exit 0
