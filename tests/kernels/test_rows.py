import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.kernels import hashes, parallel
from tests.naive import rows as naive

pytestmark = pytest.mark.usefixtures("way")

ROW = st.tuples(st.integers(0, 2**64 - 1), st.integers(-9, 9))


@given(st.lists(ROW, max_size=12), st.integers(1, 140), st.integers(1, 3), st.data())
def test_sums_of_rows_are_those_of_the_twin(drawn, domain_size, threads, data):
    """Each value gets the weights of the rows that have its bit, negative ones too."""
    keys, weights = [key for key, _ in drawn], [weight for _, weight in drawn]
    parallel.set_threads(threads)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("BLOCK_BYTES", "TASK_BYTES", "STEP"):
            patch.setattr(hashes, name, data.draw(st.sampled_from([1, 40, 1 << 20])))
        added = hashes.add_rows(np.array(keys, np.uint64), np.array(weights, np.int64), domain_size)
    assert added.dtype == np.int64
    assert added.tolist() == naive.add_rows(keys, weights, domain_size)
