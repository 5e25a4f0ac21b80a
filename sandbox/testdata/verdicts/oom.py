rows = []
while True:
    rows.append(bytearray(b"x" * (8 << 20)))
