"""Fills LanceDB: one table, with the user as a column."""

import json

import lancedb
import pyarrow

with open("sample.json", encoding="utf8") as file:
    sample = json.load(file)
columns = {"user": pyarrow.string(), "id": pyarrow.int64(), "text": pyarrow.string(), "page": pyarrow.int32()}
schema = pyarrow.schema([*columns.items(), ("vector", pyarrow.list_(pyarrow.float32(), 3))])
rows = [
    {"user": it["user"], "id": int(it["id"]), "text": it["text"], "page": it["metadata"]["page"], "vector": it["embedding"]}
    for it in sample["documents"]
]
table = lancedb.connect("./lance").create_table("items", schema=schema)
for begin in range(0, len(rows), 500):
    table.add(rows[begin : begin + 500])
nearest = []
for question in sample["questions"]:
    near = table.search(question["vector"]).distance_type("cosine").where(f"user = '{question['user']}'", prefilter=True)
    nearest.append([str(row["id"]) for row in near.limit(sample["neighbours"]).to_list()])
with open("nearest.json", "w", encoding="utf8") as file:
    json.dump(nearest, file)
