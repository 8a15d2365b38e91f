from __future__ import annotations

import json
from pathlib import Path

import pytest

from localmem.bench.corpus import Corpus
from localmem.bench.ingest import bench_ingest, made_up
from localmem.bench.retrieval import bench_retrieval
from localmem.cli import main
from localmem.models.hashing import HashEmbedder


def test_the_corpus_is_the_same_for_a_seed_and_has_the_size_asked_for() -> None:
    first, again = list(Corpus(3).sessions(45)), list(Corpus(3).sessions(45))
    assert first == again
    assert first != list(Corpus(4).sessions(45))
    assert sum(len(session.messages) for session in first) == 45
    lengths = [
        len(message.text.split()) for session in Corpus(1).sessions(2000) for message in session.messages
    ]
    assert 15 < sum(lengths) / len(lengths) < 35


def test_ingest_counts_what_became_searchable() -> None:
    result = bench_ingest(made_up(60), HashEmbedder())
    assert result["messages"] == 60
    assert result["pieces"] >= 60
    assert result["stored_per_s"] >= result["searchable_per_s"] > 0
    assert set(result["stages"]) == {"lexical_per_s", "summaries_per_s", "embedding_per_s"}
    assert all(rate > 0 for rate in result["stages"].values())


def test_ingest_takes_in_a_given_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history = tmp_path / "history.jsonl"
    line = '{"session": "a", "role": "user", "text": "I moved to Leeds in 2021."}'
    history.write_text(line, encoding="utf-8")
    start = ["--home", str(tmp_path / "home")]
    assert main([*start, "models", "use", "embedder", "hash"]) == 0
    assert main([*start, "bench", "ingest", "--data", str(history), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["messages"] == 1


def test_retrieval_has_a_row_for_each_size_and_finds_all_of_the_exact_best(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert main(["--home", str(home), "models", "use", "embedder", "hash"]) == 0
    result = bench_retrieval([40, 80], HashEmbedder(), home, lambda text: None)
    assert [row["messages"] for row in result["rows"]] == [40, 80]
    for row in result["rows"]:
        assert row["exact_top_found"] == 1.0
        assert row["lexical_error"] < 1e-5
        assert row["cold_start_s"] > 0
        assert set(row["stage_ms"]) == {"embed", "terms", "lexical", "compare", "windows", "rank", "fetch"}
    assert len(result["growth_exponents"]) == 1
    assert result["concepts"]["worst_concepts"] == 2**12
    assert 0 < result["concepts"]["usual_ms"] < result["concepts"]["worst_ms"]


def test_the_commands_print_tables_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = ["--home", str(tmp_path / "home")]
    assert main([*start, "models", "use", "embedder", "hash"]) == 0
    assert main([*start, "bench", "ingest", "--messages", "40", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["messages"] == 40
    assert main([*start, "--quiet", "bench", "retrieval", "--messages", "30"]) == 0
    printed = capsys.readouterr().out
    assert "30 messages (real vectors)" in printed
    assert "4,096 concepts" in printed
