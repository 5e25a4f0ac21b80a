import pandas as pd
print(pd.DataFrame({"x": [1, 2, 3]})["x"].sum())
