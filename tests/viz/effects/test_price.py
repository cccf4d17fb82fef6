import numpy as np
import pytest

from viz.effects.price import price


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ([0.5, 0.5], [0.5, 0.5], "as likely as before"),
        ([0.5, 0.5], [0.5, 0.49], "as likely as before"),
        ([0.9, 0.8], [0.3, 0.8], "3.0 times less likely"),
        ([0.9, 0.8], [0.03, 0.08], "300 times less likely"),
        ([0.9, 0.9], [0.0003, 0.9], "3,000 times less likely"),
        ([0.2, 0.5], [0.6, 0.5], "3.0 times likelier"),
        ([0.9, 0.9], [1e-5, 1e-5], "over a million times less likely"),
    ],
)
def test_a_price_is_the_ratio_of_the_translations_probabilities(
    before: list[float], after: list[float], said: str
) -> None:
    assert price(np.log(before), np.log(after)) == said
