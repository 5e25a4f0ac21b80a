import pandas as pd
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt

sales = pd.read_csv(INPUT)
totals = sales.groupby("region")["amount"].sum()
figure, axes = plt.subplots()
axes.bar(totals.index, totals.values)
figure.savefig(OUTPUT, format="png")
