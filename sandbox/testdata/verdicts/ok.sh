seq 3 | paste -sd+ | awk -F+ '{print $1 + $2 + $3}'
