"""Train on a CSV file through DuckDB: filters, joins and new columns need no file in between.

$ python csv_duckdb.py
selected: shop_day=Oslo Mon, shop=Lima, shop=Pune
accuracy 0.91
"""

import csv
import random
from pathlib import Path

import duckdb

from thresher import ShadowSOFS, evaluate, open_stream, train

# Stands for your file: sales, of which those in Oslo on Mondays are returned most.
draw = random.Random(0)
with Path("sales.csv").open("w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["returned", "shop", "day", "price"])
    for _ in range(3_000):
        shop, day = draw.choice(["Oslo", "Lima", "Pune"]), draw.choice(["Mon", "Tue", "Wed"])
        likely = 0.9 if (shop, day) == ("Oslo", "Mon") else 0.1
        table.writerow([int(draw.random() < likely), shop, day, round(draw.uniform(1, 100), 2)])

sales = """
    select returned, shop, day, shop || ' ' || day as shop_day, ln(price) / 5 as price
    from 'sales.csv' where price > 2
"""
roles = {"label": "returned", "categorical": ["shop", "day", "shop_day"], "numeric": "price"}
model = ShadowSOFS(n_features_to_select=3)
train(model, open_stream(duckdb.sql(sales), **roles))

print("selected:", ", ".join(model.selected_names_))
print(f"accuracy {evaluate(model, open_stream(duckdb.sql(sales), **roles)).accuracy:.2f}")
