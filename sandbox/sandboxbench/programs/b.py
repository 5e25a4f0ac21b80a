import pandas as pd

sales = pd.read_csv(INPUT)
print(sales.groupby("region")["amount"].agg(["sum", "mean", "count"]))
