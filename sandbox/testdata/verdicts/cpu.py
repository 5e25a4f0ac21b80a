import os
for _ in range(3):  # the children's time counts too
    os.fork()
while True:
    pass
