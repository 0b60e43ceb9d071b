"""SkipGram compared with gensim on the same walks, alternately in one process: words per second, ratio and micro-F1.

    python benchmarks/skipgram.py [--graph FILE.mat] [--num-walks 10] [--threads 1] [--repeats 3]

The .mat file has an adjacency matrix `network` and, for micro-F1, labels `group` (vertices × labels), which is how
BlogCatalog is usually distributed. Without a file a random graph is used. gensim is timed with lists and with a corpus
file, and the faster of the two counts. The time to build gensim's vocabulary is left out; fedwalk's counting is
included. Needs the extra `bench`.
"""

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import scipy.io
import scipy.sparse
from common import publish, table
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from fedwalk.embedding.skipgram import train

LENGTH, DIM, WINDOW, NEGATIVE = 40, 128, 10, 5


class Run(NamedTuple):
    """One training: words per second of wall-clock time and of processor time, and the vectors."""

    wall: float
    cpu: float
    vectors: NDArray[np.float32]


class Row(NamedTuple):
    """What the table needs of a run: words per second of wall-clock time, and micro-F1."""

    wall: float
    f1: float


def load(path: Path | None) -> tuple[Any, Any]:
    """Adjacency matrix and labels (or None)."""
    if path is not None:
        content = scipy.io.loadmat(path)
        return scipy.sparse.csr_matrix(content["network"]), content.get("group")
    graph: Any = scipy.sparse.random(10_000, 10_000, density=0.003, format="csr", random_state=np.random.default_rng(0))
    return scipy.sparse.csr_matrix(graph + graph.T), None


def uniform_walks(graph: Any, per_vertex: int) -> NDArray[np.int32]:
    """DeepWalk's walks, made step by step for all walks at once."""
    rng = np.random.default_rng(1)
    degree = np.diff(graph.indptr)
    at = rng.permutation(np.repeat(np.flatnonzero(degree), per_vertex))
    walks = np.empty((at.size, LENGTH), np.int32)
    for step in range(LENGTH):
        walks[:, step] = at
        at = graph.indices[graph.indptr[at] + (rng.random(at.size) * degree[at]).astype(np.int64)]
    return walks


def timed(words: int, job: Callable[[], NDArray[np.float32]]) -> Run:
    """Run a job and measure it by both clocks."""
    wall, cpu = time.perf_counter(), time.process_time()
    vectors = job()
    return Run(words / (time.perf_counter() - wall), words / (time.process_time() - cpu), vectors)


def run_gensim(corpus: dict[str, Any], walks: NDArray[np.int32], vertices: int, threads: int, seed: int) -> Run:
    """Train gensim's Word2Vec; `corpus` is its sentences or its corpus file."""
    from gensim.models import Word2Vec  # here, so that --help works without it

    model = Word2Vec(
        vector_size=DIM, window=WINDOW, negative=NEGATIVE, sg=1, sample=0, min_count=0, workers=threads, seed=seed
    )  # fmt: skip
    model.build_vocab(**corpus)

    def job() -> NDArray[np.float32]:
        model.train(**corpus, total_examples=model.corpus_count, total_words=walks.size, epochs=1)
        vectors = np.zeros((vertices, DIM), np.float32)
        vectors[[int(name) for name in model.wv.index_to_key]] = model.wv.vectors
        return vectors

    return timed(walks.size, job)


def micro_f1(vectors: NDArray[np.float32], labels: Any, splits: int = 2) -> float:
    """Micro-F1 with 60% of the vertices for training, predicting as many labels as a vertex truly has."""
    truth = np.asarray(scipy.sparse.csr_matrix(labels).todense()) > 0
    scores = []
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(truth))
        known, hidden = np.split(order, [int(0.6 * len(order))])
        model = OneVsRestClassifier(LogisticRegression(solver="liblinear")).fit(vectors[known], truth[known])
        rank = np.argsort(np.argsort(-model.predict_proba(vectors[hidden]), axis=1), axis=1)
        chosen = rank < truth[hidden].sum(axis=1, keepdims=True)
        scores.append((chosen & truth[hidden]).sum() / truth[hidden].sum())
    return float(np.mean(scores))


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", type=Path, help=".mat file with `network` (and `group`)")
    parser.add_argument("--num-walks", type=int, default=10, help="walks per vertex")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    graph, labels = load(options.graph)
    walks, vertices = uniform_walks(graph, options.num_walks), graph.shape[0]
    train(walks[:1], vertices)  # compiles
    print(f"{vertices} vertices, {walks.size / 1e6:.1f} M words, {options.threads} thread(s)")
    print(f"{'run':>3} {'trainer':<12} {'words/s':>10} {'words/CPU-s':>12} {'micro-F1':>9} {'load':>5}")
    with tempfile.TemporaryDirectory() as folder:
        corpora = sentences(walks, Path(folder))
        runs = [repeat(i, corpora, walks, vertices, labels, options.threads) for i in range(options.repeats)]
    publish_result(options, walks.size, vertices, runs)


def publish_result(options: argparse.Namespace, words: int, vertices: int, runs: list[dict[str, Row]]) -> None:
    """Publish the medians over the rounds, and the mean and standard deviation of micro-F1."""
    ratios = [run["fedwalk"].wall / max(run[name].wall for name in run if name != "fedwalk") for run in runs]
    rows = []
    for name in runs[0]:
        f1 = [run[name].f1 for run in runs]
        quality = f"{np.mean(f1):.4f} ± {np.std(f1):.4f}" if np.isfinite(f1).all() else "–"
        rows.append([name, f"{median(run[name].wall for run in runs) / 1e3:,.0f} k", quality])
    text = table(["trainer", "words per second", "micro-F1 at train ratio 0.6"], rows)
    graph = f" --graph {options.graph.name}" if options.graph else ""
    publish(
        "skipgram",
        f"{vertices:,} vertices, {words / 1e6:.1f} M words, {options.threads} thread(s). "
        f"fedwalk over the faster gensim, median of {options.repeats} rounds: **{median(ratios):.1f}×**.\n\n{text}",
        f"python benchmarks/skipgram.py{graph} --num-walks {options.num_walks} --threads {options.threads} "
        f"--repeats {options.repeats}",
    )


def sentences(walks: NDArray[np.int32], folder: Path) -> dict[str, dict[str, Any]]:
    """The walks in the two forms that gensim accepts."""
    np.savetxt(folder / "walks.txt", walks, fmt="%d")
    lists = [list(map(str, walk)) for walk in walks.tolist()]
    return {"gensim list": {"corpus_iterable": lists}, "gensim file": {"corpus_file": str(folder / "walks.txt")}}


def repeat(
    seed: int, corpora: dict[str, dict[str, Any]], walks: NDArray[np.int32], vertices: int, labels: Any, threads: int
) -> dict[str, Row]:
    """Run every trainer once."""
    runs = {name: run_gensim(corpus, walks, vertices, threads, seed) for name, corpus in corpora.items()}
    runs["fedwalk"] = timed(walks.size, lambda: train(walks, vertices, seed=seed, threads=threads))
    rows = {}
    for name, run in runs.items():
        f1 = micro_f1(run.vectors, labels) if labels is not None else float("nan")
        rows[name] = Row(run.wall, f1)
        speed = f"{run.wall:>10,.0f} {run.cpu:>12,.0f}"
        print(f"{seed:>3} {name:<12} {speed} {f1:9.4f} {os.getloadavg()[0]:>5.2f}", flush=True)
    return rows


if __name__ == "__main__":
    warnings.simplefilter("error")
    main()
