"""Held-out rows: at random, of each class its share, and never a class's last row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from purefit import InputError
from purefit.data import hold_out, load

fractions = st.floats(0, 1, exclude_max=True)
seeds = st.integers(0, 2**32 - 1)
class_sizes = st.lists(st.integers(1, 60), min_size=1, max_size=12)


def shuffled(sizes, seed):
    return np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))


@settings(max_examples=300, deadline=None)
@given(class_sizes, fractions, seeds)
def test_of_each_class_its_share_within_one_row_and_never_all(sizes, fraction, seed):
    y, sizes = shuffled(sizes, seed), np.array(sizes)
    count = round(fraction * len(y))
    # What a class may give at most: its share rounded up, but not its last row.
    most = np.minimum(np.ceil(fraction * sizes), sizes - 1).sum()
    if fraction > 0 and (count in (0, len(y)) or most == 0):
        with pytest.raises(InputError, match="--valid"):
            hold_out(y, fraction, seed, "classification")
        return
    train, valid = hold_out(y, fraction, seed, "classification")
    assert sorted([*train, *valid]) == list(range(len(y)))
    assert np.all(np.diff(train) > 0)
    assert np.all(np.diff(valid) > 0)
    held = np.bincount(y[valid], minlength=len(sizes))
    assert np.all(held < sizes)
    assert np.all(np.abs(held - fraction * sizes) <= 1)
    assert len(valid) == min(count, most)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 200), st.integers(1, 3), fractions, seeds)
def test_of_amounts_the_share_is_exact(size, columns, fraction, seed):
    y = np.random.default_rng(seed).normal(size=(size, columns))
    count = round(fraction * size)
    if fraction > 0 and count in (0, size):
        with pytest.raises(InputError, match="--valid"):
            hold_out(y, fraction, seed, "regression")
        return
    train, valid = hold_out(y, fraction, seed, "regression")
    assert sorted([*train, *valid]) == list(range(size))
    assert len(valid) == count


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_the_seed_alone_decides(task):
    y = np.arange(100) % 3
    first, again, other = (hold_out(y, 0.2, seed, task)[1].tolist() for seed in (0, 0, 1))
    assert first == again != other


def test_rows_of_a_class_are_held_out_equally_often():
    y = np.repeat([0, 1], [10, 30])
    often = sum(np.bincount(hold_out(y, 0.2, seed, "classification")[1], minlength=40) for seed in range(2000))
    assert np.all(np.abs(often / 2000 - 0.2) < 5 * np.sqrt(0.2 * 0.8 / 2000))


def test_many_small_classes_do_not_all_give_from_the_first():
    y = np.repeat(np.arange(100), 5)
    taken = [set(y[hold_out(y, 0.1, seed, "classification")[1]].tolist()) for seed in range(2)]
    assert len(taken[0]) == len(taken[1]) == 50
    assert taken[0] != taken[1]


def test_a_share_of_zero_holds_out_none():
    train, valid = hold_out(np.arange(5), 0.0, 0, "classification")
    assert (train.tolist(), valid.tolist()) == ([0, 1, 2, 3, 4], [])


def test_of_classes_with_two_rows_one_is_kept_to_train_on():
    y = np.array([0, 0, 1, 1, 2, 2])
    _, valid = hold_out(y, 0.8, 0, "classification")
    assert np.bincount(y[valid]).tolist() == [1, 1, 1]


BAD_SHARES = {
    "negative": (20, -0.1, "from 0 to below 1, not -0.1"),
    "all": (20, 1.0, "from 0 to below 1, not 1.0"),
    "more": (20, 1.5, "from 0 to below 1, not 1.5"),
    "NaN": (20, float("nan"), "from 0 to below 1, not nan"),
    "infinite": (20, float("inf"), "from 0 to below 1, not inf"),
    "of few": (3, 0.1, "of 3 examples is 0 rows; give 0.33 or more, or 0 for none"),
    "of one": (1, 0.1, "of 1 examples is 0 rows"),
    "all but a part of a row": (10, 0.99, "of 10 examples leaves none to train on; give a smaller share"),
}


@pytest.mark.parametrize("name", BAD_SHARES)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_shares_that_cannot_be_held_out_are_refused(name, task):
    size, fraction, said = BAD_SHARES[name]
    y = np.arange(size) % 2
    with pytest.raises(InputError, match="--valid") as raised:
        hold_out(y, fraction, 0, task)
    assert said in str(raised.value)
    assert str(raised.value).isprintable()


@pytest.mark.parametrize("size", [2, 3, 7, 30, 400, 70000])
def test_the_share_that_the_message_gives_is_enough(size):
    y = np.arange(size) // 2
    with pytest.raises(InputError) as raised:
        hold_out(y, 0.4 / size, 0, "regression")
    share = float(str(raised.value).split("give ")[1].split(" or more")[0])
    assert len(hold_out(y, share, 0, "regression")[1]) == 1


def test_classes_of_single_rows_have_none_to_spare():
    y = np.arange(10)
    with pytest.raises(InputError, match="no class has a row to spare; give 0"):
        hold_out(y, 0.5, 0, "classification")


def test_the_digits_are_held_out_in_proportion():
    y = load("digits").y
    _, valid = hold_out(y, 0.1, 0, "classification")
    assert np.all(np.abs(np.bincount(y[valid]) - 0.1 * np.bincount(y)) < 1)
