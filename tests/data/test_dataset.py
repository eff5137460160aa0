"""A fingerprint is of the values alone; a schema is the same after JSON."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from purefit.data import Schema
from purefit.data.dataset import fingerprint


@given(arrays(np.uint8, array_shapes(max_dims=4, max_side=4)), st.data())
def test_the_fingerprint_changes_with_every_byte(array, data):
    changed = array.copy()
    place = data.draw(st.integers(0, array.size - 1))
    changed.reshape(-1)[place] ^= data.draw(st.integers(1, 255))
    assert fingerprint(changed) != fingerprint(array) == fingerprint(array.copy())


@given(arrays(np.float64, array_shapes(min_dims=2, max_dims=3, max_side=4)))
def test_the_fingerprint_does_not_depend_on_the_layout_in_memory(array):
    strided = np.repeat(array, 2, axis=0)[::2]
    assert fingerprint(array) == fingerprint(np.asfortranarray(array)) == fingerprint(strided)


def test_the_fingerprint_depends_on_type_shape_and_order():
    array = np.arange(12.0).reshape(3, 4)
    others = [(array.reshape(4, 3),), (array.view(np.int64),), (array, None), (None, array), (array, array), ()]
    assert len({fingerprint(array), *(fingerprint(*arrays) for arrays in others)}) == 7


labels = st.lists(st.integers() | st.text(), unique=True).map(tuple)


@given(st.lists(st.integers(1, 99)).map(tuple), st.lists(st.text()).map(tuple), labels, st.integers(0, 9))
def test_a_schema_is_the_same_after_json(shape, classes, labels, targets):
    schema = Schema("classification", shape, "uint8", classes, labels, targets)
    assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema
