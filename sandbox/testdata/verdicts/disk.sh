cat /dev/zero > /workspace/out/big
