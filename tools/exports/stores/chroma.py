"""
Fills Chroma: a collection for each user. Its graph is searched so widely that it misses nothing. The space is l2, as by cosine Chroma keeps
vectors of a length that it makes one, which rounds them again.
"""

import json

import chromadb

with open("sample.json", encoding="utf8") as file:
    sample = json.load(file)
client = chromadb.PersistentClient(path="./chroma")
collections = {}
for user in ["alice", "bob"]:
    settings = {"hnsw": {"space": "l2", "ef_search": 2000, "ef_construction": 400}}
    collections[user] = client.create_collection(user, configuration=settings, embedding_function=None)
    own = [it for it in sample["documents"] if it["user"] == user]
    collections[user].add(
        ids=[it["id"] for it in own],
        documents=[it["text"] for it in own],
        embeddings=[it["embedding"] for it in own],
        metadatas=[it["metadata"] for it in own],
    )
nearest = []
for question in sample["questions"]:
    found = collections[question["user"]].query(query_embeddings=[question["vector"]], n_results=sample["neighbours"])
    nearest.append(found["ids"][0])
with open("nearest.json", "w", encoding="utf8") as file:
    json.dump(nearest, file)
