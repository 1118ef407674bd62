"""Directional bias amplification, against a literal case and the definition in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equiview.errors import MetricInputError, UndefinedMetricError
from equiview.metrics import directional_amplification

ANSWERS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=30
).map(lambda rows: tuple(np.array(column) for column in zip(*rows, strict=True)))


def by_definition(task, predicted, attribute, *, reference):
    """Eq. 4 to 6 of "From Global to Local", pair by pair."""
    n = len(task)
    answers, people = sorted(set(task)), sorted(set(attribute))
    total = Fraction(0)
    for a in people:
        rows = [i for i in range(n) if attribute[i] == a]
        for t in answers:
            both = Fraction(sum(task[i] == t for i in rows), n)
            apart = Fraction(len(rows), n) * Fraction(sum(answer == t for answer in task), n)
            given_share, true_share = (
                Fraction(sum(answers_of[i] == t for i in rows), len(rows)) for answers_of in (predicted, task)
            )
            gained = given_share - true_share
            if both > apart:
                total += gained
            elif both < apart or not reference:
                total -= gained
    return total / (len(people) * len(answers))


def test_answers_that_widen_a_gap():
    # In truth 3 of 4 men and 1 of 4 women surf; the model says all men and no women do.
    people = [0, 0, 0, 0, 1, 1, 1, 1]
    surfs, said = [1, 1, 1, 0, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0]
    assert directional_amplification(surfs, said, people) == 0.25
    assert directional_amplification(surfs, surfs, people) == 0
    assert directional_amplification(surfs, [1, 1, 0, 0, 1, 1, 0, 0], people) == -0.25


def test_the_variants_differ_where_nothing_goes_together():
    # Truth is even: the published code sees no direction, the formula counts what is said more often against.
    people, truth, said = [0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 2]
    assert directional_amplification(truth, said, people, variant="reference") == 0
    # By person 0: answer 0 loses .5, answer 1 gains .5. By person 1: 0 loses .5, 1 stays, 2 is never true.
    assert directional_amplification(truth, said, people) == 0.125


@given(ANSWERS, st.booleans())
def test_it_is_the_definition(columns, reference):
    task, predicted, attribute = columns
    found = directional_amplification(
        task, predicted, attribute, variant="reference" if reference else "paper"
    )
    expected = by_definition(task.tolist(), predicted.tolist(), attribute.tolist(), reference=reference)
    assert found == pytest.approx(float(expected), abs=1e-12)


def test_wrong_input_is_an_error_in_words():
    with pytest.raises(UndefinedMetricError, match="task is empty"):
        directional_amplification([], [], [])
    with pytest.raises(MetricInputError, match="differ in length: 2, 2, 1"):
        directional_amplification([0, 1], [0, 1], [0])
    with pytest.raises(MetricInputError, match="whole numbers"):
        directional_amplification([0.5], [0], [0])
    with pytest.raises(MetricInputError, match="variant"):
        directional_amplification([0], [0], [0], variant="other")
