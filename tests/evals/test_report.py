from __future__ import annotations

import html as entities
import json
import re
import shutil
import subprocess
import unicodedata
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from localmem.cli import main
from localmem.errors import BadInput
from localmem.evals.log import Log, read_logs
from localmem.evals.report import build_report, html, markdown
from localmem.evals.report.measuring import headline
from localmem.evals.report.parts import Examples, Report, Table
from localmem.evals.scored import scored
from localmem.evals.scores import SCORES

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
HOSTILE = (
    "<script>alert(1)</script><img src=http://example.org/x onerror=alert(2)> | `code` *bold* "
    "[link](http://example.org) www.example.org @someone #1 \x00\x1b[31m\x07 \ud800 \u202egnp.exe "
    "\"quoted' &amp; </dd></table>\n# heading\n| a | b |\n| - | - |"
)
VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())


def answered(text: str, verdict: str | None, by: str | None = "rule") -> dict[str, Any]:
    told = {"text": text, "abstained": text == "no information", "prompt_tokens": 900, "fallback": None}
    used = {"tokens_read": 800, "tokens_reused": 100, "tokens_written": 5, "seconds": 1.5}
    return {"answer": told | used, "verdict": {"verdict": verdict, "by": by, "reason": "as the rule has it"}}


def line(number: int, **changes: Any) -> dict[str, Any]:
    """A question of one of three conversations; every third is multi-hop with two gold messages."""
    gold = ["D1:1", "D2:1"] if number % 3 == 0 else ["D1:1"]
    return {
        "id": f"conv-{number % 4 // 2}/{number}",
        "source": f"conv-{number % 4 // 2}",
        "question": f"What happened in week {number}?",
        "category": "1 multi-hop" if number % 3 == 0 else "4 single-hop",
        "reference": f"a trip in week {number}",
        "abstain": False,
        "gold": gold,
        "gold_sessions": sorted({i.partition(":")[0] for i in gold}),
        "kept": ["D1:1", "D1:2", "D3:4"],
        "opened": ["D1", "D3"],
        "calls": 2,
        "completion_calls": 1,
        "messages": 40,
        "sessions": 5,
        "depth": {"raw": 2},
        "steps": None,
        "stop_reason": None,
        "seconds": 0.01,
        "online": {"tokens_read": 0, "tokens_reused": 0, "tokens_written": 0, "calls": 0, "seconds": 0.01},
        "answer": None,
        "verdict": None,
    } | changes


def described(label: str, **changes: Any) -> dict[str, Any]:
    hashes = {"data": "sha256:" + "ab" * 32, "code": "sha256:" + "cd" * 32, "embedder": "hash-256"}
    budget = dict.fromkeys(("point", "steps", "calls", "records", "keep"))
    model = {"name": "scripted", "fingerprint": "sha256:" + "ef" * 32, "trusted": False, "forced": True}
    drawn = {"limit": None, "stratify": False, "seed": 0, "shard": None, "conversation": None}
    return {
        "label": label, "arm_label": label, "arm": label, "benchmark": "locomo", "version": "1.0",
        "prompts": {"extract": "sha256:" + "12" * 32}, "protocol": "generous", "prompt_tokens": 2048,
        "models": {"controller": None, "answerer": model, "judge": model}, "k": [1, 2], "layers": "cold",
        "without": [], "retrieval_from": None, "temperature": None, "run_number": 1,
    } | hashes | budget | drawn | changes  # fmt: skip


def write(folder: Path, label: str, lines: list[dict[str, Any]], *more: dict[str, Any], **run: Any) -> None:
    tokens = {"read": 10, "reused": 0, "written": 2}
    stores = [
        {
            "source": source,
            "sessions": 5,
            "messages": 40,
            "seconds": 2.0,
            "layers": "cold",
            "model_tokens": tokens,
        }
        for source in sorted({line["source"] for line in lines})
    ]
    written = [{"run": described(label, **run)}, *({"store": store} for store in stores), *lines, *more]
    text = "".join(json.dumps(one) + "\n" for one in written)
    (folder / f"{label}.jsonl").write_text(text, encoding="utf-8")


CALIBRATION = {
    "protocol": "generous", "model": "scripted", "answers": 12, "ruled": 6, "compared": 6, "agreed": 3,
    "right_missed": 1, "wrong_accepted": 2, "kappa": None, "swapped": 10, "swapped_accepted": 1, "asked": 16,
    "unparsable": 0, "by_rule": 0.5, "agreement": 0.5, "swap_acceptance": 0.1, "unparsable_share": 0.0,
    "conclusion": "Too few answers to tell how far this judge can be trusted.",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three judged arms: one that finds little, one in between, and a controller that finds all."""
    made = tmp_path / "runs"
    made.mkdir()

    def verdict(number: int, right: int) -> dict[str, Any]:
        if number == 11:
            return answered("perhaps", None, "model")
        return answered("a trip" if number < right else "a meal", "CORRECT" if number < right else "WRONG")

    missed = {"kept": ["D9:9"], "opened": ["D9"]}
    write(made, "bm25", [line(n, **verdict(n, 3), **missed) for n in range(12)], {"calibration": CALIBRATION})
    write(made, "rag-raw", [line(n, **verdict(n, 6)) for n in range(12)], {"calibration": CALIBRATION})
    whole = {"kept": ["D1:1", "D2:1"], "opened": ["D1", "D2", "D4"]}
    steps = {"steps": 3, "stop_reason": "enough", "depth": {"summary": 1, "notes": 1, "raw": 1}}
    lines = [line(n, **verdict(n, 11), **whole, **steps) for n in range(12)]
    write(made, "agent", lines, {"calibration": CALIBRATION})
    return made


def report_of(folder: Path, base: str | None = None) -> Report:
    return build_report(read_logs(folder), base)


def table(report: Report, title: str) -> Table:
    tables = [block for section in report.sections for block in section.blocks if isinstance(block, Table)]
    (found,) = [one for one in tables if one.title == title]
    return found


def cell(report: Report, title: str, run: str, column: str, group: str = "") -> str:
    shown = table(report, title)
    place = [(one.group, one.name) for one in shown.columns].index((group, column))
    (row,) = [row for row in shown.rows if row[0].text == run]
    value = row[place]
    return f"{value.text} ({value.note})" if value.note else value.text


class Page(HTMLParser):
    """Elements, texts and tables of a page; fails on a tag that closes what is not open."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.rows: list[list[dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append(dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def of(self, *tags: str) -> list[dict[str, str | None]]:
        return [given for tag, given in self.elements if tag in tags]


def test_the_page_is_whole_and_asks_nothing_of_a_network(folder: Path) -> None:
    text = html(report_of(folder))
    page = Page(text)
    assert not page.of("script", "iframe", "object", "embed", "img", "base", "form")
    linked = [
        given[name] for _, given in page.elements for name in ("src", "href", "srcset") if name in given
    ]
    assert linked
    assert all(str(address).startswith(("#", "data:")) for address in linked)
    assert not re.search(r"@import|url\(|@font-face|https?:", text)
    assert not [name for _, given in page.elements for name in given if name.startswith("on")]


def test_every_link_leads_to_a_section_and_no_id_comes_twice(folder: Path) -> None:
    page = Page(html(report_of(folder)))
    ids = [given["id"] for _, given in page.elements if "id" in given]
    assert len(ids) == len(set(ids))
    assert {str(given["href"])[1:] for given in page.of("a")} <= set(ids)
    named = {name for _, given in page.elements for name in str(given.get("aria-labelledby", "")).split()}
    assert named <= {*ids, ""}


def test_tables_have_headings_that_a_reader_aloud_can_follow(folder: Path) -> None:
    page = Page(html(report_of(folder)))
    assert len(page.of("table")) == len(page.of("thead")) >= 12
    assert {given.get("scope") for given in page.of("th")} == {"col", "colgroup", "row"}
    for given in page.of("svg"):
        assert given["role"] == "img"
    assert len(page.of("svg")) == len(page.of("desc")) >= 5


def test_every_row_has_a_cell_for_every_column(folder: Path) -> None:
    for section in report_of(folder).sections:
        for block in section.blocks:
            if isinstance(block, Table):
                assert {len(row) for row in block.rows} <= {len(block.columns)}, block.title


def test_evidence_is_counted_at_k_and_over_all_records(folder: Path) -> None:
    report = report_of(folder)
    assert cell(report, "Evidence found, %", "agent", "questions with evidence") == "12"
    of_first = cell(report, "Evidence found, %", "agent", "complete", "first 1 records")
    assert of_first.startswith("66.7 ")  # 8 of 12 questions have one gold message, the first that was kept
    assert cell(report, "Evidence found, %", "agent", "complete", "all records kept") == "100.0 (no interval)"
    assert cell(report, "Evidence found, %", "bm25", "gold hit", "all records kept") == "0.0 (no interval)"


def test_intervals_are_those_of_the_statistics_clustered_by_conversation(folder: Path) -> None:
    (log,) = [log for log in read_logs(folder) if log.label == "rag-raw"]
    found = scored(log.lines.values(), SCORES["accuracy"]).mean()
    assert found is not None
    assert found.method == "clustered"
    assert found.low is not None
    assert found.high is not None
    told = f"{100 * found.value:.1f} ({100 * found.low:.1f}–{100 * found.high:.1f})"
    assert cell(report_of(folder), "Answers, %", "rag-raw", "judged accuracy") == told


def test_unscored_answers_are_told_apart_from_wrong_ones(folder: Path) -> None:
    report = report_of(folder)
    assert cell(report, "Answers, %", "rag-raw", "judged accuracy").startswith("54.5 ")  # 6 of 11
    assert cell(report, "Answers, %", "rag-raw", "unscored") == "8.3 (1 of 12)"
    assert cell(report, "Verdicts", "rag-raw", "wrong", "by a rule") == "5"
    assert cell(report, "Verdicts", "rag-raw", "unscored") == "1 (8.3 %)"


def test_without_answers_their_columns_say_not_scored(tmp_path: Path) -> None:
    write(tmp_path, "bm25", [line(n) for n in range(4)], models=None, protocol=None, prompts={})
    report = report_of(tmp_path)
    for column in ("stem F1", "judged accuracy", "unscored", "right refusals", "false refusals"):
        assert cell(report, "Answers, %", "bm25", column) == "not scored"
    assert any("Answers were not scored" in sentence for sentence in report.summary)
    assert "No answer was judged." in html(report)


def test_wrong_answers_are_split_into_errors_of_retrieval_and_of_generation(folder: Path) -> None:
    report = report_of(folder)
    title = "Where answers went wrong, %"
    assert cell(report, title, "bm25", "wrong: retrieval").startswith("72.7 ")  # 8 of 11, nothing gold opened
    assert cell(report, title, "rag-raw", "wrong: generation").startswith("45.5 ")
    assert cell(report, title, "rag-raw", "wrong: retrieval").startswith("0.0 ")


def test_steps_of_a_controller_are_told_with_their_percentiles(folder: Path) -> None:
    (row,) = table(report_of(folder), "Steps of the controller, a question").rows
    assert [value.text for value in row] == ["agent", "12", "3.00", "3", "3", "3", "3", "enough 100 %"]


def test_adversarial_questions_are_in_no_mean_but_their_own(tmp_path: Path) -> None:
    lines = [line(n, **answered("a trip", "CORRECT")) for n in range(4)]
    trap = {"category": "5 adversarial", "abstain": True, "gold": ["D1:1"]}
    lines += [line(n, **trap, **answered("a meal", "WRONG")) for n in range(4, 8)]
    write(tmp_path, "bm25", lines)
    report = report_of(tmp_path)
    assert cell(report, "Answers, %", "bm25", "judged accuracy").startswith("100.0")
    assert cell(report, "Answers, %", "bm25", "right refusals").startswith("0.0")
    assert cell(report, "Judged accuracy, %", "bm25", "5 adversarial (n = 4)").startswith("0.0")


def test_runs_are_paired_with_the_baseline_and_significance_is_said_plainly(folder: Path) -> None:
    report = report_of(folder)
    assert cell(report, "Judged accuracy: runs less rag-raw", "agent", "win", "questions") == "5"
    assert cell(report, "Judged accuracy: runs less rag-raw", "bm25", "loss", "questions") == "3"
    assert "In judged accuracy no run differs significantly from rag-raw." in report.summary
    against = report_of(folder, "bm25")
    assert cell(against, "Judged accuracy: runs less bm25", "agent", "significant") == "yes"
    assert any("significantly better than bm25: agent (+72.7)" in said for said in against.summary)


def test_a_baseline_that_was_not_run_is_refused_with_those_that_were(folder: Path) -> None:
    with pytest.raises(BadInput, match=r"'bm26'.*agent, bm25, rag-raw"):
        report_of(folder, "bm26")


def test_runs_over_different_data_are_refused(folder: Path) -> None:
    write(folder, "dense", [line(0)], data="sha256:" + "00" * 32)
    with pytest.raises(BadInput, match="different data"):
        report_of(folder)


def test_how_far_the_judge_can_be_trusted_is_told_at_the_top_and_drawn(folder: Path) -> None:
    report = report_of(folder)
    assert CALIBRATION["conclusion"] in report.summary
    column = "answers to other questions accepted, %"
    assert cell(report, "Calibration of the judge", "agent", column) == "10.0 (1 of 10)"
    assert "at most 10 %" in Page(html(report)).texts


def test_labels_of_people_are_told_beside_the_judge(folder: Path) -> None:
    from localmem.evals.labelling import Labels, judged_answers

    labels = Labels(folder)
    items = judged_answers(read_logs(folder))
    for item in items:
        labels.give(item, "CORRECT")
    report = report_of(folder)
    right, decided = (
        sum(item.verdict in kinds for item in items) for kinds in (("CORRECT",), ("CORRECT", "WRONG"))
    )
    assert cell(report, "The judge and people", "all", "agreement, %") == f"{100 * right / decided:.1f}"


def test_what_runs_share_is_told_once_and_where_they_differ_by_run(folder: Path) -> None:
    report = report_of(folder)
    shared = {row[0].text: row[1].text for row in table(report, "The same in all runs").rows}
    assert shared["data"] == "sha256:abababababab"
    assert shared["judge"].startswith("scripted (forced, its probe does not trust it; sha256:")
    assert shared["temperature"] == "0, deterministic"
    assert [column.name for column in table(report, "Where runs differ").columns] == ["run", "arm"]


def test_a_budget_sweep_gets_its_curves_and_its_front(tmp_path: Path) -> None:
    for calls, hits in ((0, 2), (1, 6), (3, 4)):
        kept = [["D1:1"] if n < hits else ["D9:9"] for n in range(8)]
        lines = [line(n, gold=["D1:1"], kept=kept[n], completion_calls=calls) for n in range(8)]
        write(tmp_path, f"bfr-mv-C{calls}", lines, arm="bfr-mv", point=f"C{calls}", calls=None)
    report = report_of(tmp_path)
    fronts = {row[0].text: row[4].text for row in table(report, "Budget sweep, means of a question").rows}
    assert fronts == {"bfr-mv-C0": "yes", "bfr-mv-C1": "yes", "bfr-mv-C3": "no"}
    titles = [figure["id"] for figure in Page(html(report)).of("title") if "id" in figure]
    assert {"budget-completion-calls-title", "budget-records-title"} <= set(titles)


def test_repeated_runs_get_their_mean_and_deviation(tmp_path: Path) -> None:
    for number, right in ((1, 2), (2, 4)):
        lines = [line(n, **answered("x", "CORRECT" if n < right else "WRONG")) for n in range(8)]
        write(tmp_path, f"bm25-run{number}", lines, arm="bm25", temperature=0.7, run_number=number)
    ((_, runs, temperature, *scores),) = table(report_of(tmp_path), "Means over repeated runs, %").rows
    assert (runs.text, temperature.text) == ("2", "0.7")
    assert (scores[0].text, scores[0].note) == ("37.5", "± 17.68")


def test_a_run_cut_off_after_one_question_is_reported_too(tmp_path: Path) -> None:
    write(tmp_path, "bm25", [line(0)])
    Page(html(report_of(tmp_path)))
    write(tmp_path, "dense", [])
    Page(html(report_of(tmp_path)))


def test_a_run_over_other_questions_is_told_and_the_rest_are_compared(tmp_path: Path) -> None:
    write(tmp_path, "bm25", [line(0), line(1)])
    write(tmp_path, "dense", [line(2), line(3)])
    apart = "Without a question in common with bm25: dense."
    assert {apart, "There is no run to compare it with."} <= set(Page(html(report_of(tmp_path))).texts)
    write(tmp_path, "hybrid", [line(1)])
    report = report_of(tmp_path)
    assert apart in Page(html(report)).texts
    (row,) = table(report, "Complete evidence recall: runs less bm25").rows
    assert row[0].text == "hybrid"


def test_examples_show_wrong_answers_first_and_are_the_same_each_time(folder: Path) -> None:
    first, again = (report_of(folder).sections[-2].blocks for _ in range(2))
    assert first == again
    shown = [block for block in first if isinstance(block, Examples)]
    assert [example.verdict for example in shown[1].shown] == ["wrong"] * 3 + ["right"] * 2 + ["unscored"]


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A run in which every text that a log has from outside is hostile."""
    said = HOSTILE.replace("\ud800", "")  # what is scored is stemmed, and no stemmer takes half a character
    lines = [
        line(
            n,
            question=HOSTILE,
            reference=said,
            category=HOSTILE,
            source=HOSTILE,
            **answered(said, "WRONG"),
        )
        for n in range(3)
    ]
    for one in lines:
        one["verdict"]["reason"] = HOSTILE
        one |= {"steps": 1, "stop_reason": HOSTILE}
    model = {"name": HOSTILE, "fingerprint": HOSTILE, "trusted": False, "forced": True}
    write(tmp_path, "bm25", lines, arm=HOSTILE, benchmark=HOSTILE, models={"judge": model}, embedder=HOSTILE)
    (tmp_path / "bm25.jsonl").write_text(
        (tmp_path / "bm25.jsonl").read_text().replace('"label": "bm25"', f'"label": {json.dumps(HOSTILE)}')
    )
    return tmp_path


def test_hostile_text_stays_text_on_the_page(hostile: Path) -> None:
    text = html(report_of(hostile))
    page = Page(text)
    assert not page.of("script", "img")
    assert any("<script>alert(1)</script><img src=http://example.org/x" in shown for shown in page.texts)
    unwanted = {c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Cf") and c != "\n"}
    assert unwanted == set()
    text.encode("utf-8")


def test_hostile_text_stays_text_in_markdown(hostile: Path) -> None:
    text = markdown(report_of(hostile))
    text.encode("utf-8")
    tokens = MarkdownIt("gfm-like").disable("linkify").parse(text)
    assert {child.type for token in tokens for child in token.children or ()} <= {"text", "softbreak"}
    assert not {"html_block", "fence", "code_block"} & {token.type for token in tokens}
    assert not re.search(r"https?://|www\.|[^\\]@", text)
    written = [heading for heading in text.splitlines() if heading.startswith("#")]
    assert sum(token.type == "heading_open" for token in tokens) == len(written)
    assert not any(re.match(r"#+ heading", heading) for heading in written)


def test_markdown_has_the_same_tables_with_the_same_cells(folder: Path) -> None:
    report = report_of(folder)
    tables = [block for section in report.sections for block in section.blocks if isinstance(block, Table)]
    examples = [
        block for section in report.sections for block in section.blocks if isinstance(block, Examples)
    ]
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown(report))
    assert sum(token.type == "table_open" for token in tokens) == len(tables) + len(examples)
    cells = sum(token.type == "td_open" for token in tokens)
    shown = sum(len(block.shown) for block in examples)
    assert cells == sum(len(block.rows) * len(block.columns) for block in tables) + 5 * shown


def test_the_command_writes_beside_the_logs_or_where_it_is_told(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", "report", str(folder)]) == 0
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert main(["eval", "report", str(folder), "--format", "markdown", "--baseline", "bm25"]) == 0
    assert "## Paired with bm25" in (folder / "report.md").read_text(encoding="utf-8")
    out = tmp_path / "one.html"
    assert main(["eval", "report", str(folder / "agent.jsonl"), "--out", str(out)]) == 0
    assert out.exists()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"Written: {out}" in captured.err


def test_the_command_says_what_is_wrong(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", "report", str(folder), "--baseline", "x"]) == 2
    assert "No run is called 'x'" in capsys.readouterr().err
    assert main(["eval", "report", str(folder), "--out", str(folder / "missing" / "r.html")]) == 2
    assert "cannot be written: No such file or directory" in capsys.readouterr().err
    for log in folder.glob("*.jsonl"):
        log.unlink()
    assert main(["eval", "report", str(folder)]) == 2
    assert "holds no log" in capsys.readouterr().err


Browse = Callable[[str], tuple[str, str]]


@pytest.fixture
def browse(tmp_path: Path) -> Browse:
    """Opens a page in a browser; gives its document after loading and what the browser logged."""
    if CHROMIUM is None:
        pytest.skip("no chromium or google-chrome in the PATH")

    def opened(text: str) -> tuple[str, str]:
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        command = [
            CHROMIUM,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--v=0",
        ]
        command += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=2000", "--dump-dom"]
        done = subprocess.run(
            [*command, path.as_uri()], capture_output=True, text=True, timeout=120, check=True
        )
        return done.stdout, done.stderr

    return opened


def test_a_browser_opens_the_report_without_a_complaint(folder: Path, browse: Browse) -> None:
    text = html(report_of(folder))
    document, logged = browse(text)
    assert "CONSOLE" not in logged
    shown, written = Page(document), Page(text)
    for kind in ("table", "tr", "td", "th", "svg", "details"):
        assert len(shown.of(kind)) == len(written.of(kind)) > 0
    _, complaint = browse("<script>console.error('seen')</script>")
    assert "CONSOLE" in complaint  # the check above can fail


def test_nothing_but_tables_scrolls_sideways_on_a_phone(folder: Path, hostile: Path, browse: Browse) -> None:
    measured = "frame.contentDocument.documentElement.scrollWidth"
    for report in (report_of(folder), report_of(hostile)):
        document, _ = browse(
            '<iframe id="frame" style="width:400px;height:800px" '
            f'srcdoc="{entities.escape(html(report))}"></iframe>'
            f"<script>frame.onload = () => {{ document.title = 'wide ' + {measured}; }}</script>"
        )
        found = re.search(r"<title>wide (\d+)</title>", document)
        assert found is not None
        assert int(found[1]) <= 400


def test_verdicts_of_a_judge_that_cannot_be_trusted_tell_no_runs_apart() -> None:
    """Always CORRECT: all swapped answers accepted."""
    known = {
        "protocol": "generous", "model": "yes", "answers": 40, "ruled": 0, "compared": 0, "agreed": 0,
        "right_missed": 0, "wrong_accepted": 0, "kappa": None, "swapped": 40, "swapped_accepted": 40,
        "asked": 40, "unparsable": 0,
    }  # fmt: skip
    line = {
        "id": "q", "source": "c", "category": "1 multi-hop", "abstain": False, "reference": "tea",
        "answer": {"text": "tea", "abstained": False}, "verdict": {"verdict": "CORRECT"},
    }  # fmt: skip
    doubtful, sound = (
        Log(Path("a.jsonl"), {"label": "a"}, (), {"q": line}, {**known, "swapped_accepted": accepted})
        for accepted in (40, 0)
    )
    assert headline([sound]) == "accuracy"
    assert headline([sound, doubtful]) == "stem_f1"
