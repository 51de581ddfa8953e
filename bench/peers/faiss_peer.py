"""The process of faiss: an index in memory for each group, one thread. Obeys the lines that child.mjs says, and answers as it does."""
import json
import os
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
import faiss  # noqa: E402
import numpy as np  # noqa: E402

DIMENSIONS, TOP, SPAN = 384, 10, 100_000
variant, corpus, folder = sys.argv[1:4]
faiss.omp_set_num_threads(1)
shape = json.load(open(f"{corpus}/corpus.json"))
groups = np.fromfile(f"{corpus}/groups.u32", np.uint32)
times = np.fromfile(f"{corpus}/times.u32", np.uint32)
asked = np.fromfile(f"{corpus}/queries.f32", np.float32).reshape(-1, DIMENSIONS)
indexes = {}


def unit(cells):
    return np.ascontiguousarray(cells / np.linalg.norm(cells, axis=1, keepdims=True), np.float32)


def made(cells):
    index = faiss.index_factory(DIMENSIONS, {"flat": "Flat", "sq8": "SQ8"}[variant], faiss.METRIC_INNER_PRODUCT)
    if not index.is_trained:
        index.train(cells)
    index.add(cells)
    return index


def stored(group, index, numbers, when):
    faiss.write_index(index, f"{folder}/{group}.faiss")
    np.save(f"{folder}/{group}.numbers.npy", numbers)
    np.save(f"{folder}/{group}.times.npy", when)


def processor():
    of = time.clock_gettime(time.CLOCK_PROCESS_CPUTIME_ID)
    return of * 1e3


def memory():
    of = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    mebibytes = {name: int(of[name].split()[0]) // 1024 for name in ("VmRSS", "RssAnon", "VmHWM")}
    return {"rssMiB": mebibytes["VmRSS"], "anonymousMiB": mebibytes["RssAnon"], "peakMiB": mebibytes["VmHWM"]}


def feed():
    start, cpu = time.perf_counter(), processor()
    halves = np.memmap(f"{corpus}/vectors.bf16", np.uint16, "r").reshape(-1, DIMENSIONS)
    for group in range(shape["groups"]):
        numbers = np.nonzero(groups == group)[0]
        cells = (halves[numbers].astype(np.uint32) << 16).view(np.float32)
        stored(group, made(unit(cells)), numbers.astype(np.int64), times[numbers])
    os.sync()
    ms = (time.perf_counter() - start) * 1e3
    return {"documents": len(groups), "ms": ms, "cpuMs": processor() - cpu, "settledMs": ms, "peakMiB": memory()["peakMiB"]}


def load(group):
    if group not in indexes:
        kept = [np.load(f"{folder}/{group}.{name}.npy") for name in ("numbers", "times")]
        indexes[group] = [faiss.read_index(f"{folder}/{group}.faiss"), *kept]
    return indexes[group]


def near(group, vector, low=None):
    index, numbers, when = load(group)
    chosen = {}
    if low is not None:
        rows = np.nonzero((when >= low) & (when < low + SPAN))[0]
        if len(rows) == 0:
            return []
        chosen = {"params": faiss.SearchParameters(sel=faiss.IDSelectorBatch(rows))}
    rows = index.search(vector[None], TOP, **chosen)[1][0]
    return [int(numbers[row]) for row in rows if row >= 0]


def search(kind, begin, count):
    taken, answers, cpu = [], [], processor()
    for turn in range(begin, begin + count):
        at = turn % len(asked)
        query = shape["queries"][at]
        start = time.perf_counter()
        answers.append(near(query["group"], asked[at], query["low"] if kind == "near-filter" else None))
        taken.append((time.perf_counter() - start) * 1e3)
    return {"ms": taken, "cpuMs": processor() - cpu, "answers": answers}


def put(count):
    taken, seen = [], 0
    for turn in range(count):
        at = turn % len(asked)
        group, number = shape["queries"][at]["group"], 10_000_000 + turn
        vector = asked[at].copy()
        vector[number % DIMENSIONS] += 0.25
        vector = unit(vector[None])[0]
        start = time.perf_counter()
        entry = load(group)
        entry[0].add(vector[None])
        entry[1] = np.append(entry[1], number)
        entry[2] = np.append(entry[2], np.uint32(500_000))
        stored(group, *entry)
        os.sync()
        taken.append((time.perf_counter() - start) * 1e3)
        found = near(group, vector)
        seen += 1 if found and found[0] == number else 0
    return {"ms": taken, "seen": seen}


def erase(group):
    start = time.perf_counter()
    indexes.pop(group, None)
    for name in ("faiss", "numbers.npy", "times.npy"):
        os.remove(f"{folder}/{group}.{name}")
    return {"ms": (time.perf_counter() - start) * 1e3, "left": 0}


def opened():
    start = time.perf_counter()
    load(shape["queries"][0]["group"])
    return {"ms": (time.perf_counter() - start) * 1e3, "version": f"faiss-cpu {faiss.__version__}"}


def answer(request):
    match request["do"]:
        case "feed":
            return feed()
        case "open":
            return opened()
        case "search":
            return search(request["kind"], request["from"], request["count"])
        case "put":
            return put(request["count"])
        case "erase":
            return erase(request["group"])
        case "memory":
            return memory()
        case "close":
            return {}


for line in sys.stdin:
    asked_for = json.loads(line)
    try:
        result = answer(asked_for)
    except Exception as failure:  # told to whoever asked
        result = {"error": repr(failure)}
    print("@" + json.dumps(result), flush=True)
    if asked_for["do"] == "close":
        break
