"""Whether rows are grouped by label: what is found, what is not, and what order costs on real data."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from every import in_order
from hypothesis import given
from hypothesis import strategies as st
from real_data import split

from thresher import SOFS, ShadowSOFS
from thresher.model import label_order
from thresher.model.label_order import LabelOrder


def grouping(codes):
    order = LabelOrder()
    order.add(np.asarray(codes, dtype=np.int32))
    return order.grouping()


def naive_counts(codes, n_classes):
    """Count in spans of the smallest power of two of rows that gives at most 64."""
    length = 1
    while len(codes) > 64 * length:
        length *= 2
    counts = np.zeros((64, n_classes), dtype=int)
    for row, code in enumerate(codes):
        counts[row // length, code] += 1
    return counts


def information(parts):
    """Return MI in nats, and the number of rows, of a table of (rows of the class, other rows) in each part."""
    n_rows, n = sum(a + b for a, b in parts), sum(a for a, b in parts)
    cells = [(cell, sum(part), of) for part in parts for cell, of in zip(part, (n, n_rows - n), strict=True)]
    return sum(cell / n_rows * math.log(cell * n_rows / (w * of)) for cell, w, of in cells if cell)


def naive_verdict(codes):
    """Return whether a window, or all spans together, are significant and large for some class."""
    spans = [row for row in naive_counts(codes, max(codes) + 1).tolist() if any(row)]
    present = sorted(set(codes))
    groups = [{c} for c in present]
    if len(present) > 2:
        groups.append({c for c in present if sum(code <= c for code in codes) <= len(codes) / 2})
    n_tests = (1 if len(present) == 2 else len(groups)) * (1 + 64 * 65 // 2)
    for group in groups:
        parts = [(sum(row[c] for c in group), sum(row) - sum(row[c] for c in group)) for row in spans]
        n, n_rows = sum(a for a, _ in parts), len(codes)
        if n in (0, n_rows):
            continue
        entropy = -sum(share * math.log(share) for share in (n / n_rows, 1 - n / n_rows))

        def is_grouped(parts, least, log_values, n=n, n_rows=n_rows, entropy=entropy):
            found = information(parts)
            chance = log_values + 0.5 * math.log(8 * n * (n_rows - n) / n_rows) - n_rows * found
            return chance + math.log(n_tests) <= math.log(1e-6) and found >= least * entropy

        if is_grouped(parts, 0.2, sum(math.log(1 + min(a + b, n, n_rows - n)) for a, b in parts)):
            return True
        for begin, end in itertools.combinations(range(len(parts) + 1), 2):
            inside = [sum(column) for column in zip(*parts[begin:end], strict=True)]
            outside = [n - inside[0], n_rows - n - inside[1]]
            values = 1 + min(n, n_rows - n, sum(inside), sum(outside))
            if sum(outside) and is_grouped([inside, outside], 0.05, math.log(values)):
                return True
    return False


class TestRule:
    @given(st.lists(st.integers(1, 30), min_size=2, max_size=8), st.integers(2, 4), st.randoms(use_true_random=False))
    def test_equals_the_naive_one(self, lengths, n_classes, random):
        codes = [code for turn, length in enumerate(lengths) for code in [turn % n_classes] * length]
        for _ in range(random.randrange(30)):
            a, b = random.randrange(len(codes)), random.randrange(len(codes))
            codes[a], codes[b] = codes[b], codes[a]
        found = grouping(codes)
        assert (found is not None) == naive_verdict(codes)
        if found is not None:
            inside = codes[found.first - 1 : found.last]
            shares = {round(inside.count(c) / len(inside), 12) for c in set(codes)}
            assert found.of != "one class" or round(found.share, 12) in shares

    @given(st.lists(st.integers(0, 3), max_size=300), st.lists(st.integers(0, 200), max_size=6))
    def test_any_batching_and_resuming_give_the_same(self, codes, cuts):
        whole = LabelOrder()
        whole.add(np.array(codes, dtype=np.int32))
        parts = LabelOrder()
        for begin, end in itertools.pairwise([0, *sorted(min(cut, len(codes)) for cut in cuts), len(codes)]):
            parts.add(np.array(codes[begin:end], dtype=np.int32))
            parts = LabelOrder.from_state(json.loads(json.dumps(parts.state())), n_classes=4)
        assert parts.grouping() == whole.grouping()
        assert parts.n_rows == whole.n_rows == len(codes)
        np.testing.assert_array_equal(
            np.array(whole.state()["counts"]), naive_counts(codes, max(2, max(codes, default=0) + 1))
        )

    def test_the_window_is_named(self):
        found = grouping([1] * 150 + [0] * 150)
        assert (found.first, found.last) == (1, 152)  # spans have 8 rows
        assert str(found) == ("the rows are grouped by label (one class: 1% of rows 1 to 152, 100% of the others)")


def in_blocks(n_rows, length, n_classes=2):
    return np.arange(n_rows) // length % n_classes


class TestFound:
    def test_sorted_rows_of_two_classes(self):
        for n_rows in (*range(39, 400), 1_000, 12_345, 1_000_000):
            codes = np.arange(n_rows) >= n_rows // 2
            assert grouping(codes) is not None, n_rows
            assert grouping(~codes) is not None, n_rows

    @pytest.mark.parametrize("n_rows", [1_000, 5_000, 100_000])
    @pytest.mark.parametrize("at", [0.0, 0.33, 0.5, 1.0])
    def test_a_rare_class_in_one_block(self, n_rows, at):
        for n in {10, n_rows // 100}:
            first = round(at * (n_rows - n))
            codes = np.zeros(n_rows, int)
            codes[first : first + n] = 1
            assert grouping(codes) is not None, n

    @pytest.mark.parametrize(("n_classes", "each"), [(3, 20), (20, 15), (20, 800), (100, 30), (1_000, 20), (100, 3)])
    def test_many_classes_in_order(self, n_classes, each):
        assert grouping(np.repeat(np.arange(n_classes), each)) is not None

    def test_many_classes_grouped_in_any_order(self):
        order = np.random.default_rng(0).permutation(100)
        assert grouping(np.repeat(order, 30)) is not None

    @pytest.mark.parametrize("n_rows", [300, 2_000, 50_000])
    @pytest.mark.parametrize("n_parts", [1, 2, 3, 10])
    def test_files_that_are_sorted_each(self, n_rows, n_parts):
        assert grouping(in_blocks(n_rows, n_rows // (2 * n_parts))) is not None

    @pytest.mark.parametrize("n_rows", [1_000, 20_000])
    def test_one_class_at_the_end_of_mixed_rows(self, n_rows):
        codes = np.random.default_rng(1).integers(0, 2, n_rows)
        codes[-n_rows // 10 :] = 1
        assert grouping(codes) is not None

    def test_rows_that_are_sorted_but_for_noise(self):
        random = np.random.default_rng(1)
        assert grouping((np.arange(5_000) >= 2_500) ^ (random.random(5_000) < 0.2)) is not None


class TestNotFound:
    @pytest.mark.slow
    @pytest.mark.parametrize("n_rows", [30, 60, 300, 3_000])
    @pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.99, 0.01), (0.05,) * 20], ids=len)
    def test_random_order(self, n_rows, shares):
        """At most one in a million is wrong. With the limit at one in a hundred, and any effect, few may be."""
        random = np.random.default_rng(n_rows)
        n_wrong = 0
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(label_order, "_FALSE_ALARMS", 1e-2)
            patch.setattr(label_order, "_LARGE_WINDOW", 0.0)
            patch.setattr(label_order, "_LARGE_TOTAL", 0.0)
            for _ in range(400):
                n_wrong += grouping(random.choice(len(shares), n_rows, p=shares)) is not None
        assert n_wrong <= 8

    @pytest.mark.slow
    def test_random_order_as_it_is(self):
        random = np.random.default_rng(0)
        assert not any(grouping(random.integers(0, 2, 200)) for _ in range(5_000))
        assert not any(grouping(random.random(2_000) < 0.01) for _ in range(2_000))

    @pytest.mark.parametrize("n_rows", [100, 1_000, 100_000])
    def test_turns(self, n_rows):
        for n_classes in (2, 3, 20):
            assert grouping(np.arange(n_rows) % n_classes) is None

    @pytest.mark.parametrize("n_rows", [1_000, 30_000, 1_000_000])
    def test_runs_that_are_short_beside_the_whole(self, n_rows):
        for length in {2, 5, n_rows // 200, n_rows // 100}:
            assert grouping(in_blocks(n_rows, length)) is None, length

    @pytest.mark.parametrize("n_rows", [1_000, 30_000, 1_000_000])
    @pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
    def test_drift_that_does_not_hurt(self, n_rows, share):
        random = np.random.default_rng(n_rows)
        t = np.arange(n_rows) / n_rows
        for change in (0.3 * (2 * t - 1), 0.2 * np.sign(t - 0.5), 0.4 * np.sin(2 * np.pi * 7 * t)):
            assert grouping(random.random(n_rows) < share * (1 + change)) is None

    def test_half_of_a_rare_class_in_bursts(self):
        random = np.random.default_rng(5)
        share = np.where(np.arange(200_000) // 4_000 % 10 == 0, 0.005, 0.00055)
        assert grouping(random.random(200_000) < share) is None

    def test_one_class_or_no_rows(self):
        assert grouping([]) is None
        assert grouping([1] * 500) is None
        assert grouping([0]) is None


class TestCost:
    """The limit separates orders that cost little from orders that cost much."""

    @pytest.mark.filterwarnings("ignore:y. the rows are grouped by label")
    @pytest.mark.parametrize(("name", "n_train", "budget"), [("basehock", 1_500, 100), ("ccat", 8_000, 500)])
    def test_on_real_data(self, name, n_train, budget):
        X, y, X_test, y_test = split(name, n_train, 0)
        random = np.random.default_rng(0)
        orders = {
            "random": random.permutation(n_train),
            "runs of 10 rows": blocks(y, 20, random),
            "runs of 1 %": blocks(y, n_train // 50, random),
            "sorted": np.argsort(y, kind="stable"),
            "four sorted parts": blocks(y, n_train // 4, random),
            "one class in the last fifth": with_tail(y, n_train // 5, random),
        }
        grouped = list(orders)[3:]
        for method in (SOFS, ShadowSOFS):
            accuracy = {
                what: 100 * in_order(method, budget).fit(X[order], y[order]).score(X_test, y_test)
                for what, order in orders.items()
            }
            cost = {what: accuracy["random"] - value for what, value in accuracy.items()}
            print(name, method.__name__, {what: f"{value:.1f}" for what, value in cost.items()})
            for what, order in orders.items():
                is_grouped = grouping((y[order] > 0).astype(int)) is not None
                assert is_grouped == (what in grouped), what
                if not is_grouped:
                    assert cost[what] < 2, what
            assert cost["sorted"] > 20
            assert cost["one class in the last fifth"] > 1


def blocks(y, length, random):
    """Order rows in runs of a class, `length` rows of both together."""
    rows = random.permutation(len(y))
    parts = [np.array_split(rows[y[rows] == label], len(y) // length) for label in np.unique(y)]
    return np.concatenate(list(itertools.chain(*zip(*parts, strict=True))))


def with_tail(y, n, random):
    """Order rows at random, but with `n` rows of one class at the end."""
    rows = random.permutation(len(y))
    tail = rows[y[rows] > 0][:n]
    return np.concatenate([np.setdiff1d(rows, tail)[random.permutation(len(y) - n)], tail])
