"""Inputs keep their type, or get one that holds them exactly; a number that can't be used is named."""

import tracemalloc

import numpy as np
import pytest

from purefit import InputError
from purefit.data import load, load_inputs
from purefit.data.inputs import check_inputs

X, Y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("uint8", "uint8"), ("int8", "int8"), ("uint16", "uint16"), ("int16", "int16"), ("bool", "uint8"),
        ("uint32", "int32"), ("int32", "int32"), ("uint64", "int32"), ("int64", "int32"),
        ("float16", "float32"), ("float32", "float32"), ("float64", "float32"), ("longdouble", "float32"),
        (">u2", "uint16"), (">i2", "int16"), (">i4", "int32"), (">i8", "int32"), (">f4", "float32"), (">f8", "float32"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("order", ["C", "F"])
def test_inputs_keep_their_type_or_one_that_holds_them_exactly(save, given, kept, order):
    x = np.asarray((np.arange(40).reshape(20, 2) % 2).astype(given), order=order)
    dataset = load(save(x=x, y=Y))
    assert (str(dataset.x.dtype), dataset.schema.input_dtype) == (kept, kept)
    assert dataset.x.dtype.isnative
    assert dataset.x.flags.c_contiguous
    np.testing.assert_array_equal(dataset.x, x)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integers_up_to_the_limits_of_32_bits_are_kept(save, dtype):
    x = np.array([[-(2**31), 2**31 - 1]] * 20, dtype)
    np.testing.assert_array_equal(load(save(x=x, y=Y)).x, x)


def test_finite_numbers_whose_sum_overflows_are_finite():
    x = np.full((20, 2), 3e38, np.float32)
    assert np.shares_memory(check_inputs(x, "x"), x)
    huge = np.array([[1.7e308, 1.0], [1.7e308, 1.0]])
    with pytest.raises(InputError, match="row 0, column 0 is too large for float32"):
        check_inputs(huge, "x")


def with_value(value, dtype=np.float64, shape=(20, 2), place=(7, 1)):
    x = np.ones(shape, dtype)
    x[place] = value
    return x


BAD_INPUTS = {
    "rank 0": (np.array(3.0), ["x_train", "shapes ()"]),
    "rank 1": (X[:, 0], ["shape (20,)", "reshape(-1, 1)"]),
    "no features": (X[:, :0], ["empty", "(20, 0)"]),
    "other length": (X[:7], ["x_train has 7 rows, y_train has 20"]),
    "NaN in float16": (with_value(np.nan, np.float16), ["x_train: row 7, column 1 is NaN"]),
    "NaN in float32": (with_value(np.nan, np.float32), ["x_train: row 7, column 1 is NaN"]),
    "NaN in float64": (with_value(np.nan), ["x_train: row 7, column 1 is NaN"]),
    "inf in float32": (with_value(np.inf, np.float32), ["row 7, column 1 is infinite"]),
    "inf in float64": (with_value(-np.inf), ["row 7, column 1 is infinite"]),
    "NaNs": (with_value(np.nan, place=slice(18, 20)), ["row 18, column 0 is NaN (and 3 more)"]),
    "NaN in an image": (with_value(np.nan, shape=(20, 3, 3), place=(4, 2, 1)), ["row 4, column (2, 1) is NaN"]),
    "infinities that cancel": (with_value([np.inf, -np.inf], place=3), ["row 3, column 0 is infinite (and 1 more)"]),
    "too large for float32": (with_value(1e39), ["row 7, column 1 is too large for float32"]),
    "too large in longdouble": (with_value(np.longdouble(1e300), "longdouble"), ["row 7, column 1 is too large"]),
    "int64 too large": (with_value(2**31, np.int64), ["row 7, column 1 is 2147483648, too large for 32 bits"]),
    "int64 too small": (with_value(-(2**31) - 1, np.int64), ["row 7, column 1 is -2147483649"]),
    "uint32 too large": (with_value(2**32 - 1, np.uint32), ["row 7, column 1 is 4294967295"]),
    "uint64 too large": (with_value(2**64 - 1, np.uint64), ["row 7, column 1 is 18446744073709551615"]),
    "complex": (X * 1j, ["x_train: holds complex numbers"]),
    "text": (X.astype(str), ["x_train: holds text"]),
    "bytes": (X.astype(bytes), ["x_train: holds text"]),
    "dates": (X.astype("M8[s]"), ["x_train: holds dates"]),
    "durations": (X.astype("m8[s]"), ["x_train: holds durations"]),
    "records": (np.zeros((20, 2), [("a", int), ("b", float)]), ["x_train: holds records"]),
}


def test_data_without_rows_are_refused(save, refused):
    refused(save(x=X[:0], y=Y[:0]), "x_train: empty, its shape is (0, 2)")


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_bad_inputs_are_named(save, refused, name):
    x, words = BAD_INPUTS[name]
    refused(save(x=x, y=Y), *words)


@pytest.mark.parametrize("name", [name for name, (x, _) in BAD_INPUTS.items() if np.ndim(x) > 1 and x.size == 40])
def test_bad_inputs_of_the_test_split_are_named(save, refused, name):
    x, words = BAD_INPUTS[name]
    good = np.ones(x.shape, x.dtype if x.dtype.kind in "iuf" else float)
    refused(save(x_train=good, y_train=Y, x_test=x, y_test=Y), words[0].replace("x_train", "x_test"), "x_test: ")


def test_splits_of_other_shapes_are_refused(save, refused):
    given = {"x_train": X, "y_train": Y, "y_test": Y}
    refused(save(**given, x_test=X[:, :1]), "x_test: 1 feature an example, but 2 features in the training data")
    refused(save(**given, x_test=np.ones((20, 2, 3))), "x_test: 6 features (2×3) an example")


def test_inputs_unlike_the_trained_ones_are_refused(save, refused):
    schema = load(save(x=X.astype(np.uint8), y=Y)).schema
    source = save(x=np.ones((4, 3), np.uint8), y=Y[:4])
    for call in (load, load_inputs):
        refused(source, "x_train: 3 features an example, but 2 features", call=call, schema=schema)
    for value, shown in ((0.5, "0.5"), (256.0, "256"), (-1, "-1"), (70000, "70000")):
        x = np.ones((4, 2), type(value))
        x[3, 1] = value
        said = f"x_train: row 3, column 1 is {shown}, but inputs are uint8 in the training data"
        refused(save(x=x, y=Y[:4]), said, call=load_inputs, schema=schema)


def test_inputs_are_given_in_the_trained_type_where_that_holds_them(save):
    bytes_, floats = load(save(x=X.astype(np.uint8), y=Y)).schema, load(save(x=X, y=Y)).schema
    assert load_inputs(save(x=np.full((4, 2), 5.0)), schema=bytes_).dtype == np.uint8
    assert load_inputs(save(x=np.full((4, 2), 5, np.uint8)), schema=floats).dtype == np.float32


@pytest.mark.parametrize(("dtype", "copies"), [(np.uint8, 0), (np.float32, 0), (np.int32, 0), (np.float64, 0.5)])
def test_inputs_are_not_copied_without_need(dtype, copies):
    x = np.ones((60000, 28, 7), dtype)
    tracemalloc.start()
    check_inputs(x, "x")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < copies * x.nbytes + 2**20
