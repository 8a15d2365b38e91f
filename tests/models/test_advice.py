from __future__ import annotations

import psutil
import pytest

from localmem.models.advice import LEAST_WINDOW, advise, available_ram, fit
from localmem.models.catalog import catalog, find

GB = 1_000_000_000


def test_a_model_fits_with_its_whole_window_when_there_is_room_for_it() -> None:
    entry = find("qwen3-4b")
    assert fit(entry, entry.ram(entry.context), 4).window == entry.context
    assert fit(entry, entry.ram(entry.context), 4).fits


def test_with_less_memory_the_window_is_smaller() -> None:
    entry = find("qwen3-4b")
    one = fit(entry, entry.ram(4096), 4)
    assert one.window == 4096
    assert not one.fits
    assert fit(entry, entry.ram(4096) - 1, 4).window == 3072


def test_below_the_least_useful_window_a_model_does_not_fit() -> None:
    entry = find("qwen3-4b")
    assert fit(entry, entry.ram(LEAST_WINDOW), 4).window == LEAST_WINDOW
    assert fit(entry, entry.ram(LEAST_WINDOW) - 1, 4).window == 0


def test_models_without_a_window_to_shrink_fit_whole_or_not() -> None:
    entry = find("nomic-embed-text-v1.5")
    assert fit(entry, entry.ram(entry.context), 4).fits
    assert not fit(entry, entry.ram(entry.context) - 1, 4).fits
    assert fit(find("hash"), 0, 4).fits


@pytest.mark.parametrize("available", [GB // 2, GB, 2 * GB, 5 * GB, 40 * GB])
@pytest.mark.parametrize("cores", [1, 2, 8, 64])
def test_the_advised_model_is_the_last_that_leaves_room_and_is_quick_enough(
    available: int, cores: int
) -> None:
    advice = advise(available, cores)
    good = [one.entry.name for one in advice.fits if one.ram <= 0.7 * available and one.seconds <= 60]
    assert advice.advised == (good[-1] if good else None)
    assert advice.available == available
    assert (advice.advised or "No model") in advice.reason


def test_advice_covers_every_chat_model() -> None:
    chat = [entry.name for entry in catalog().values() if entry.kind == "chat"]
    assert [one.entry.name for one in advise(GB, 2).fits] == chat


def test_more_cores_make_a_larger_model_advisable() -> None:
    few, many = advise(40 * GB, 2).advised, advise(40 * GB, 32).advised
    assert few is not None
    assert many is not None
    assert (find(few).parameters or 0) < (find(many).parameters or 0)


def test_the_machine_is_asked() -> None:
    assert 0 < available_ram() <= psutil.virtual_memory().total
