"""Labels become class indices, numbers columns of float32; what is neither, or may be both, is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from purefit.data import Schema, load
from purefit.data.targets import encode, labels_of

X, Y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
PETS = np.array(["cat", "dog"] * 10)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (np.array([3, 5, 3, 5]), ("3", "5")),
        (np.array([3, 5, 3, 5], np.uint64), ("3", "5")),
        (np.array([-1, 1, -1, 1], np.int8), ("-1", "1")),
        (np.array([-(2**63), 2**63 - 1, 0, 0]), ("-9223372036854775808", "0", "9223372036854775807")),
        (np.array([2**53, 2**53 + 1, 2**53, 2**53]), ("9007199254740992", "9007199254740993")),
        (np.array([[3], [5], [3], [5]]), ("3", "5")),
        (np.array(["b", "a", "b", "ä b"]), ("a", "b", "ä b")),
        (np.array([["b"], ["a"], ["b"], ["a"]]), ("a", "b")),
        (np.char.encode(np.array(["b", "ä", "b", "a"]), "utf-8"), ("a", "b", "ä")),
        (np.array([True, False, True, False]), ("False", "True")),
        (np.array([[True], [False], [True], [False]]), ("False", "True")),
    ],
)
def test_labels_become_indices_of_named_classes(save, y, classes):
    dataset = load(save(x=np.ones((4, 2)), y=y))
    raw = [value.decode() if isinstance(value, bytes) else str(value) for value in y.reshape(-1).tolist()]
    assert [dataset.schema.classes[index] for index in dataset.y] == raw
    assert dataset.schema.classes == classes
    assert dataset.y.dtype == np.int32
    assert Schema.from_json(dataset.schema.to_json()) == dataset.schema


integers = st.integers(-(2**63), 2**63 - 1)
# NumPy's text ends before its last zeros.
texts = st.text(st.characters(exclude_characters="\0"), min_size=1)


@given(st.lists(integers, min_size=2, unique=True) | st.lists(texts, min_size=2, unique=True), st.data())
def test_the_class_of_every_index_is_the_label(distinct, data):
    values = data.draw(st.lists(st.sampled_from(distinct), min_size=1))
    labels = labels_of(np.array([*values, *distinct]), "y")
    assert [labels[index] for index in encode(np.array(values), labels, "y")] == values


def test_whole_floats_are_classes_if_the_user_says_so(save):
    dataset = load(save(x=X, y=Y + 3.0), task="classification")
    assert dataset.schema.labels == (3, 4)
    assert dataset.y.tolist() == Y.tolist()


def test_numbers_become_columns_of_floats(save):
    y = np.linspace(0.5, 1.7, 20)
    one = load(save(x=X, y=y))
    assert one.y.tolist() == y.astype(np.float32)[:, None].tolist()
    assert one.schema == Schema("regression", (2,), "float32", (), (), 1)
    two = load(save(x=X, y=np.column_stack([y, -y])))
    assert (two.schema.task, two.schema.targets, two.y.shape) == ("regression", 2, (20, 2))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.int64, np.float16, np.longdouble])
def test_numbers_of_every_type_are_amounts_if_the_user_says_so(save, dtype):
    dataset = load(save(x=X, y=np.arange(20).astype(dtype)), task="regression")
    assert dataset.y.dtype == np.float32
    assert dataset.y[:, 0].tolist() == np.arange(20).astype(dtype).astype(float).tolist()


def test_large_amounts_are_rounded_to_float32_whatever_their_type(save):
    y = np.arange(20) + 2**40
    assert load(save(x=X, y=y), task="regression").y[:, 0].tolist() == y.astype(np.float32).tolist()


BAD_TARGETS = {
    "rank 0": (np.array(3), "auto", ["y_train"]),
    "other length": (Y[:7], "auto", ["x_train has 20 rows, y_train has 7"]),
    "fractions as classes": (Y + 0.5, "classification", ["row 0 is 0.5, not a class", "--task regression"]),
    "one fraction as a class": (np.where(np.arange(20) == 13, 0.25, Y), "classification", ["row 13 is 0.25"]),
    "whole floats": (Y * 1.0, "auto", ["--task classification or --task regression"]),
    "whole floats in two columns": (np.eye(2)[Y], "auto", ["--task classification or --task regression"]),
    "many integers": (np.arange(20), "auto", ["20 distinct integers in 20 rows", "--task"]),
    "one class": (Y * 0, "auto", ["only one class, 0"]),
    "one class of text": (np.array(["cat"] * 20), "auto", ["only one class, cat"]),
    "one class that is invisible": (np.array(["\n"] * 20), "auto", ["only one class, '\\n'"]),
    "one-hot": (np.eye(2, dtype=int)[Y], "auto", ["shape (20, 2)", "argmax"]),
    "one-hot floats": (np.eye(2)[Y], "classification", ["argmax"]),
    "no columns": (np.ones((20, 0), int), "auto", ["shape (20, 0)"]),
    "rank 3 labels": (np.ones((20, 1, 1), int), "auto", ["shape (20, 1, 1)", "one column"]),
    "NaN labels": (np.where(Y == 1, np.nan, 0), "classification", ["row 1 is NaN (and 9 more)"]),
    "infinite labels": (np.where(Y == 1, np.inf, 0), "classification", ["row 1 is infinite"]),
    "huge floats as labels": (np.where(Y == 1, 1e300, 0), "classification", ["row 1 is 1e+300, too large for a label"]),
    "huge integers as labels": (Y.astype(np.uint64) + np.uint64(2**63), "auto", ["row 0 is 9223372036854775808"]),
    "bytes of no text": (np.array([b"\xff", b"a"] * 10), "auto", ["bytes that aren't UTF-8, like b'\\xff'"]),
    "complex labels": (Y * 1j, "auto", ["y_train: holds complex numbers, which can't be classes"]),
    "dates as labels": (Y.astype("M8[s]"), "auto", ["y_train: holds dates"]),
    "records as labels": (np.zeros(20, [("a", int)]), "auto", ["y_train: holds records"]),
    "NaN targets": (np.where(Y == 1, np.nan, 0.5), "auto", ["y_train: row 1, column 0 is NaN (and 9 more)"]),
    "infinite targets": (np.where(np.arange(20) == 3, np.inf, 0.5), "auto", ["row 3, column 0 is infinite"]),
    "NaN in a second target": (np.where(X == 7, np.nan, 0.5), "regression", ["row 3, column 1 is NaN"]),
    "too large targets": (np.where(Y == 1, 1e39, 0.5), "auto", ["row 1, column 0 is too large for float32"]),
    "text regression": (Y.astype(str), "regression", ["y_train: holds text, not a number", "--task classification"]),
    "complex regression": (Y * 1j, "regression", ["y_train: holds complex numbers"]),
    "rank 3 regression": (np.ones((20, 1, 1)), "regression", ["y_train: shape (20, 1, 1)", "(n, k)"]),
    "regression of no columns": (np.ones((20, 0)), "regression", ["y_train: shape (20, 0)"]),
}


@pytest.mark.parametrize("name", BAD_TARGETS)
def test_bad_targets_are_named(save, refused, name):
    y, task, words = BAD_TARGETS[name]
    refused(save(x=X, y=y), *words, task=task)


def test_more_than_1000_distinct_integers_are_asked_about(save, refused):
    x, y = np.ones((4004, 1), np.uint8), np.arange(4004) % 1001
    refused(save(x=x, y=y), "1001 distinct integers in 4004 rows; say --task")
    assert len(load(save(x=x, y=y % 1000)).schema.classes) == 1000
    assert len(load(save(x=x, y=y), task="classification").schema.classes) == 1001


@pytest.mark.parametrize(
    ("y", "new", "said"),
    [
        (Y, Y + 1, "y_test: row 1 has the unknown label 2; known are 0, 1"),
        (Y, Y - 1, "y_test: row 0 has the unknown label -1"),
        (Y, Y + 0.5, "y_test: row 0 is 0.5, not a class"),
        (Y, Y.astype(str), "y_test: labels are text like 0, but int64 like 0 in the training data"),
        (np.arange(20) % 8 * 2, Y, "y_test: row 1 has the unknown label 1; known are 0, 2, 4"),
        (PETS, np.array(["cat", "do"] * 10), "row 1 has the unknown label do; known are cat, dog"),
        (PETS, np.array(["cat", "dogs"] * 10), "row 1 has the unknown label dogs"),
        (PETS, np.array(["cat", "d\ng"] * 10), "row 1 has the unknown label 'd\\ng'"),
        (PETS, Y, "y_test: labels are int64 like 0, but text like cat"),
        (np.linspace(0, 1, 20), np.ones((20, 2)), "y_test: 2 targets a row, but 1 in the training data"),
        (np.linspace(0, 1, 20), PETS, "y_test: holds text"),
    ],
)
def test_targets_unlike_the_trained_ones_are_refused(save, refused, y, new, said):
    refused(save(x_train=X, y_train=y, x_test=X, y_test=new), said)
    schema = load(save(x=X, y=y)).schema
    refused(save(x=X, y=new), said.replace("y_test", "y_train"), schema=schema)


def test_a_source_need_not_have_all_classes_of_the_trained_one(save):
    schema = load(save(x=X, y=PETS)).schema
    dataset = load(save(x=X[:3], y=np.array(["dog"] * 3)), schema=schema)
    assert dataset.y.tolist() == [1, 1, 1]
    assert dataset.schema == schema
