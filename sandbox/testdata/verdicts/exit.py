import polars
