"""Naive implementations that are obviously right: one feature at a time, every member looked at for every offer.

Two classes have one weight vector, on which a row of the second class pulls by +1 and one of the first by −1. More have
one each: the true class pulls by +1, the best wrong one by −1. A feature's rank is summed over the vectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict

import numpy as np
import scipy.sparse as sp

INTERCEPT = -1
INTERCEPT_VALUE = 0.3  # its x in every row


class MarginScaleOracle:
    """The scale t in softmax(t·scores): one Newton step a row, with the curvature of all rows so far."""

    def __init__(self, scale):
        self.scale, self.information, self.is_rounding = scale, 0.0, False

    def learn(self, scores: list[float], code: int, importance: float) -> None:
        scores = [0.0, *scores] if len(scores) == 1 else scores
        chances = np.exp(self.scale * (np.array(scores) - max(scores)))
        chances /= chances.sum()
        mean = chances @ scores
        slope = mean - scores[code]
        spread = max(scores) - min(scores)
        # Scores of 1e-17, the true one in the middle: what is left of the slope is rounding, and so is t from then on.
        self.is_rounding |= abs(slope) < 1e-9 * spread
        self.information += importance * max(chances @ (scores - mean) ** 2, 2.0**-20 * spread**2)
        if self.information > 0:
            t = self.scale
            self.scale = min(max(t - importance * slope / self.information, t / 2), t * 2)


class Oracle(ABC):
    """What all methods share: scores, the loss, and the offer rule. State is in `dtype`."""

    enters_first = False  # while places are open, a row's outsiders enter before the step

    def __init__(
        self, n_classes=2, n_features_to_select=None, keep=None, norm="l2", fit_intercept=False, dtype=np.float32
    ):
        self.vectors = range(1 if n_classes == 2 else n_classes)
        self.budget = n_features_to_select
        self.norm, self.fit_intercept, self.dtype = norm, fit_intercept, dtype
        self.keep = set(keep or ())
        self.members: set[int] = set(self.keep)
        self.n_rows = self.n_updates = self.n_mistakes = 0
        self.weight = [defaultdict(dtype) for _ in self.vectors]
        self.margins = MarginScaleOracle(4.0)

    def fit(self, X: sp.csr_matrix, codes: np.ndarray, row_weights: np.ndarray | None = None) -> Oracle:
        for r in range(X.shape[0]):
            row = slice(X.indptr[r], X.indptr[r + 1])
            importance = 1.0 if row_weights is None else row_weights[r]
            if importance > 0:
                self.step(X.indices[row].tolist(), X.data[row], int(codes[r]), importance)
        return self

    def scaled(self, values: np.ndarray) -> np.ndarray:
        x = values.astype(np.float32).astype(np.float64)
        length = np.sqrt(total(x * x))
        if self.norm == "l2" and length > 0:
            x = x * (1.0 / length)
        if self.fit_intercept:
            x = np.append(x, INTERCEPT_VALUE)
        return x.astype(self.dtype)

    def step(self, ids: list[int], values: np.ndarray, code: int, importance: float) -> None:
        x = self.scaled(values)
        if self.fit_intercept:
            ids = [*ids, INTERCEPT]
        scores = [self.score(v, ids, x) for v in self.vectors]
        self.count(self.predicted(ids, values, scores, code, importance), code, importance)
        if len(scores) == 1:
            y = 1.0 if code == 1 else -1.0
            margin, pulls = y * scores[0], [(0, y)]
        else:
            rival = max((v for v in self.vectors if v != code), key=lambda v: (scores[v], -v))
            margin, pulls = scores[code] - scores[rival], [(code, 1.0), (rival, -1.0)]
        if not self.has_loss(margin):
            return
        self.n_updates += 1
        touched = [j for j, value in zip(ids, x, strict=True) if value != 0 and j != INTERCEPT]
        if self.enters_first:
            outsiders = [j for j in touched if j not in self.members]
            self.members.update(outsiders[: None if self.budget is None else self.budget - len(self.members)])
        # First every touched feature takes the step …
        self.learn(ids, x, pulls, margin, importance)
        # … then the outsiders of this row are offered, in ascending order of id.
        for j in [j for j in touched if j not in self.members]:
            if self.budget is not None and len(self.members) >= self.budget:
                lowest = min(self.members - self.keep, key=lambda j: (self.rank(j), -j), default=None)
                if lowest is None or not self.rank(j) > self.rank(lowest):
                    self.drop(j)
                    continue
                self.members.remove(lowest)
                self.drop(lowest)
            self.members.add(j)

    def predicted(self, ids, values, scores, code, importance) -> list[float]:
        """Return the scores by which `predict` judges the row."""
        return scores

    def count(self, scores: list[float], code: int, importance: float) -> None:
        self.n_rows += 1
        self.n_mistakes += (int(scores[0] > 0) if len(scores) == 1 else int(np.argmax(scores))) != code
        counted = importance * self.row_importance()
        self.margins.learn(scores, code, counted)

    def row_importance(self) -> float:
        """Return what the row at work counts when the scale of margins is learned."""
        return 1.0

    def score(self, v: int, ids: list[int], x: np.ndarray) -> float:
        weight = np.array([self.weight[v][j] for j in ids], dtype=self.dtype)
        predicts = np.array([j in self.members or j == INTERCEPT for j in ids], dtype=bool)
        return total(np.where(predicts, weight, self.dtype(0)) * x)

    @abstractmethod
    def has_loss(self, margin: float) -> bool: ...

    @abstractmethod
    def learn(self, ids, x, pulls, margin, importance) -> None: ...

    @abstractmethod
    def rank_in(self, v: int, j: int) -> float: ...

    def rank(self, j: int) -> float:
        return sum((self.rank_in(v, j) for v in self.vectors), self.dtype(0))

    def drop(self, j: int) -> None:
        """Delete the state that only members keep."""
        for v in self.vectors:
            self.weight[v][j] = self.dtype(0)

    @property
    def selected(self) -> list[int]:
        return sorted(self.members, key=lambda j: (-self.rank(j), j))

    @property
    def weights(self) -> np.ndarray:
        each = [[self.weight[v][j] for v in self.vectors] for j in self.selected]
        return np.array(each, dtype=self.dtype).reshape(len(each), len(self.vectors))

    @property
    def intercept(self) -> list[float]:
        return [self.dtype(INTERCEPT_VALUE) * self.weight[v][INTERCEPT] for v in self.vectors]


def total(terms: np.ndarray) -> float:
    """Sum in 16 float64 lanes, position i in lane i mod 16, added by halves."""
    lanes = np.zeros(16)
    for i, term in enumerate(terms):
        lanes[i % 16] += float(term)
    for half in (8, 4, 2, 1):
        lanes = lanes[:half] + lanes[half:]
    return float(lanes[0])


class SecondOrderOracle(Oracle):
    """AROW's step. `weight` is μ."""

    def __init__(self, gamma=1.0, **shared):
        super().__init__(**shared)
        self.gamma = gamma
        self.excess = [defaultdict(self.dtype) for _ in self.vectors]  # P − 1

    def has_loss(self, margin):
        return margin < 1.0

    def learn(self, ids, x, pulls, margin, importance):
        one = self.dtype(1)
        gamma = max(self.gamma / importance, 1e-10)
        gains = {v: x / np.array([one + self.excess[v][j] for j in ids], dtype=self.dtype) for v, _ in pulls}
        variance = sum(total(x * gain) for gain in gains.values())
        for v, pull in pulls:
            alpha = self.dtype(pull * (1.0 - margin) / (variance + gamma))
            for j, value, gain in zip(ids, x, gains[v], strict=True):
                if value != 0:
                    self.weight[v][j] = self.weight[v][j] + alpha * gain
                    self.excess[v][j] = self.excess[v][j] + value * value * self.dtype(1.0 / gamma)


class SofsOracle(SecondOrderOracle):
    def rank_in(self, v, j):
        return self.excess[v][j]


class ArowOracle(SecondOrderOracle):
    """Without a budget no feature is ever dropped."""

    def rank_in(self, v, j):
        return self.weight[v][j] * self.weight[v][j] * (self.dtype(1) + self.excess[v][j])


def exp_of_negative(z: float) -> float:
    """e^z as the core has it, to nine digits: C libraries differ in the last bits, and so would weights."""
    z = max(z, -700.0)
    power = np.floor(z * 1.4426950408889634 + 0.5)
    r, total = z - power * 0.6931471805599453, 1.0 / 40320
    for factorial in (5040, 720, 120, 24, 6, 2, 1, 1):
        total = total * r + 1.0 / factorial
    return float(np.ldexp(total, int(power)))


class LogisticOracle:
    """Online logistic regression on what it is given of a row: each class has weights w and precisions Q."""

    def __init__(self, n_vectors, norm, fit_intercept, dtype):
        self.vectors, self.norm, self.fit_intercept, self.dtype = range(n_vectors), norm, fit_intercept, dtype
        self.exp = exp_of_negative if dtype is np.float32 else np.exp
        self.weight = [defaultdict(dtype) for _ in self.vectors]
        self.growth = [defaultdict(dtype) for _ in self.vectors]  # Q − 0.1

    def learn(self, ids: list[int], values: np.ndarray, code: int, importance: float) -> list[float]:
        """Learn a row; return the scores that it had before."""
        z = values.astype(np.float32).astype(np.float64)
        if self.norm == "l2" and len(z):
            z = z * (1.0 / np.sqrt(total(z * z)))
        if self.fit_intercept:
            ids, z = [*ids, INTERCEPT], np.append(z, INTERCEPT_VALUE)
        z, c = z.astype(self.dtype), min(importance, 1e10)
        scores = [total(np.array([self.weight[v][j] for j in ids], self.dtype) * z) for v in self.vectors]
        for v, (r, h) in enumerate(self.errors(scores, code)):
            gain = z / (self.dtype(0.1) + np.array([self.growth[v][j] for j in ids], self.dtype))
            rate = self.dtype(c * r / (1.0 + c * h * total(z * gain)))
            for j, z_j, gain_j in zip(ids, z, gain, strict=True):
                self.weight[v][j] = self.weight[v][j] + rate * gain_j
                self.growth[v][j] = self.growth[v][j] + z_j * z_j * self.dtype(c * h)
        return scores

    def errors(self, scores: list[float], code: int) -> list[tuple[float, float]]:
        """t − p and p(1 − p) of each class; of two, of the second."""
        if len(scores) == 1:
            y = 1.0 if code == 1 else -1.0
            e = self.exp(-abs(scores[0]))
            return [(y * (e if y * scores[0] > 0 else 1.0) / (1.0 + e), max(e / ((1.0 + e) * (1.0 + e)), 1e-6))]
        chances = [self.exp(score - max(scores)) for score in scores]
        p = [chance / sum(chances) for chance in chances]
        return [((v == code) - p[v], max(p[v] * (1.0 - p[v]), 1e-6)) for v in self.vectors]


class ShadowSofsOracle(ArowOracle):
    """Members learn as if they were alone; each outsider learns what it would be worth beside them.

    All that is to select. The members of each row, before it changes who they are, predict by a logistic regression.
    """

    enters_first = True

    def __init__(self, **given):
        super().__init__(**given)
        self.layer = LogisticOracle(len(self.vectors), self.norm, self.fit_intercept, self.dtype)
        self.margins = MarginScaleOracle(1.0)

    def predicted(self, ids, values, scores, code, importance):
        is_member = np.array([j in self.members for j in ids[: len(values)]], bool) & (values.astype(np.float32) != 0)
        members = [j for j, is_one in zip(ids, is_member, strict=False) if is_one]
        return self.layer.learn(members, values[is_member], code, importance)

    def row_importance(self):
        return float(self.n_rows) ** 2  # scores change with the members: those of later rows say more

    @property
    def weights(self):
        each = [[self.layer.weight[v][j] for v in self.vectors] for j in self.selected]
        return np.array(each, dtype=self.dtype).reshape(len(each), len(self.vectors))

    @property
    def intercept(self):
        return [self.dtype(INTERCEPT_VALUE) * self.layer.weight[v][INTERCEPT] for v in self.vectors]

    def learn(self, ids, x, pulls, margin, importance):
        one = self.dtype(1)
        gamma = max(self.gamma / importance, 1e-10)
        is_member = np.array([j in self.members or j == INTERCEPT for j in ids], dtype=bool)
        gains = {v: x / np.array([one + self.excess[v][j] for j in ids], dtype=self.dtype) for v, _ in pulls}
        # With many classes, outsiders count a little.
        counted = np.where(is_member, x, self.dtype(0.25 if len(pulls) == 2 else 0.0) * x)
        variance = sum(total(counted * gain) for gain in gains.values())
        loss = 1.0 - margin
        alpha = self.dtype(loss / (variance + gamma))
        self.last_step = pulls, loss, variance, gamma
        for i, (j, value) in enumerate(zip(ids, x, strict=True)):
            if value != 0 and is_member[i]:
                for v, pull in pulls:
                    self.weight[v][j] = self.weight[v][j] + self.dtype(pull) * alpha * gains[v][i]
                    self.excess[v][j] = self.excess[v][j] + value * value * self.dtype(1.0 / gamma)
            elif value != 0:
                self.learn_outsider(j, value, self.weight, self.excess)

    def learn_outsider(self, j, value, weight, excess):
        """Take the last step for a feature as if it alone joined the members."""
        one, zero = self.dtype(1), self.dtype(0)
        pulls, loss, variance, gamma = self.last_step
        gains = {v: value / (one + excess[v][j]) for v, _ in pulls}
        own = sum((self.dtype(pull) * weight[v][j] for v, pull in pulls), zero) * value
        own_variance = sum((value * gain for gain in gains.values()), zero)
        rate = max(self.dtype(loss) - own, zero) / (self.dtype(variance + gamma) + own_variance)
        for v, pull in pulls:
            weight[v][j] = weight[v][j] + self.dtype(pull) * rate * gains[v]
            excess[v][j] = excess[v][j] + value * value * self.dtype(1.0 / gamma)

    def drop(self, j):
        """Keep the weight as a shadow."""


class DecoysOracle(ShadowSofsOracle):
    """ShadowSOFS with a decoy for every feature: those of a row are the features of the row before it."""

    def __init__(self, **given):
        super().__init__(**given)
        self.decoy_weight = [defaultdict(self.dtype) for _ in self.vectors]
        self.decoy_excess = [defaultdict(self.dtype) for _ in self.vectors]
        self.shown: list[tuple[int, float]] = []

    def step(self, ids, values, code, importance):
        self.last_step = None
        super().step(ids, values, code, importance)
        if self.last_step is not None:
            for j, value in self.shown:
                self.learn_outsider(j, value, self.decoy_weight, self.decoy_excess)
        self.show(ids, values)

    def show(self, ids, values):
        self.shown = [(j, x) for j, x in zip(ids, self.scaled(values), strict=False) if x != 0]

    def decoy_rank(self, j):
        ranks = (self.decoy_weight[v][j] ** 2 * (self.dtype(1) + self.decoy_excess[v][j]) for v in self.vectors)
        return sum(ranks, self.dtype(0))

    @property
    def q_values(self) -> list[float]:
        """For each selected feature, the least estimate at any rank up to its own; NaN for those of `keep`."""
        decoys = [self.decoy_rank(j) for j in set().union(*self.decoy_excess)]
        ranks = {j: self.rank(j) for j in self.members - self.keep}

        def estimate(limit):
            n = sum(rank >= limit for rank in ranks.values())
            return (1 + sum(rank >= limit for rank in decoys)) / n

        def q(rank):
            return min([1.0, *(estimate(limit) for limit in ranks.values() if 0 < limit <= rank)]) if rank > 0 else 1.0

        return [q(ranks[j]) if j in ranks else float("nan") for j in self.selected]


class NumbersOracle:
    """ShadowSOFS for numbers: both layers by squared loss, one feature at a time. `weight` is μ, `excess` is P − 1.

    Rows are divided by the mean length of the rows so far, and their members by that of the rows' members so far;
    targets are seen without their mean.
    """

    def __init__(self, n_features_to_select, gamma, keep=None, norm="mean", fit_intercept=True, dtype=np.float32):
        self.budget, self.gamma, self.norm, self.fit_intercept = n_features_to_select, gamma, norm, fit_intercept
        self.dtype = dtype
        self.keep = set(keep or ())
        self.members = set(self.keep)
        self.weight, self.excess = defaultdict(dtype), defaultdict(dtype)
        self.shown: list[tuple[int, float]] = []
        self.decoy_weight, self.decoy_excess = defaultdict(dtype), defaultdict(dtype)
        self.lengths: list[float] = []
        self.targets, self.importances = [], []
        self.squared_errors: list[float] = []
        self.start_layer()

    def start_layer(self):
        self.w, self.growth = defaultdict(self.dtype), defaultdict(self.dtype)  # of members: w, and Q − 0.1
        self.member_lengths: list[float] = []

    @property
    def mean(self) -> float:
        """Of the targets so far, by their weights."""
        if not self.targets:
            return 0.0
        return sum(c * y for c, y in zip(self.importances, self.targets, strict=True)) / sum(self.importances)

    def scaled(self, values: np.ndarray, lengths: list[float], is_learned: bool) -> np.ndarray:
        x = values.astype(np.float32).astype(np.float64)
        if self.norm == "mean":
            length = np.sqrt(total(x * x))
            if is_learned and length > 0:
                lengths.append(length)
            x = np.clip(x * (len(lengths) / sum(lengths) if lengths else 1.0), -1e18, 1e18)
        return (np.append(x, INTERCEPT_VALUE) if self.fit_intercept else x).astype(self.dtype)

    def with_intercept(self, ids):
        return [*ids, INTERCEPT] if self.fit_intercept else ids

    def fit(self, X, y, row_weights=None, is_refit=False):
        for r in range(X.shape[0]):
            row = slice(X.indptr[r], X.indptr[r + 1])
            importance = 1.0 if row_weights is None else float(row_weights[r])
            values = X.data[row].astype(np.float32)
            ids, values = X.indices[row][values != 0].tolist(), values[values != 0]
            if importance > 0 and is_refit:
                self.predict_and_learn(ids, values, float(y[r]), importance, self.offset)
            elif importance > 0:
                self.step(ids, values, float(y[r]), importance)
        return self

    @property
    def offset(self) -> float:
        return self.mean if self.fit_intercept else 0.0

    def score_of_members(self, ids, values, is_learned):
        of_members = np.array([j in self.members for j in ids], bool)
        members = self.with_intercept([j for j in ids if j in self.members])
        z = self.scaled(values[of_members], self.member_lengths, is_learned)
        return members, z, total(np.array([self.w[j] for j in members], self.dtype) * z)

    def predict(self, X) -> np.ndarray:
        found = []
        for r in range(X.shape[0]):
            row = slice(X.indptr[r], X.indptr[r + 1])
            values = X.data[row].astype(np.float32)
            ids = X.indices[row][values != 0].tolist()
            found.append(self.offset + self.score_of_members(ids, values[values != 0], False)[2])
        return np.array(found)

    def predict_and_learn(self, ids, values, y, importance, offset):
        """Let the layer that predicts learn what is left of y; the offset is the mean with this row."""
        members, z, score = self.score_of_members(ids, values, True)
        c = min(importance, 1e10)
        gain = z / (self.dtype(0.1) + np.array([self.growth[j] for j in members], self.dtype))
        rate = self.dtype(c * (y - offset - score) / (1.0 + c * total(z * gain)))
        for j, z_j, gain_j in zip(members, z, gain, strict=True):
            self.w[j] = self.w[j] + rate * gain_j
            self.growth[j] = self.growth[j] + z_j * z_j * self.dtype(c)
        return score

    def step(self, ids, values, y, importance):
        x = self.scaled(values, self.lengths, True)
        before = self.offset, self.mean
        self.targets.append(y)
        self.importances.append(importance)
        score = self.predict_and_learn(ids, values, y, importance, self.offset)
        if len(self.targets) > 1:
            self.squared_errors.append((y - before[0] - score) ** 2)
        self.select(ids, x, y - self.offset, importance)
        for j, value in self.shown:
            self.learn_outsider(j, value, self.decoy_weight, self.decoy_excess)
        self.shown = list(zip(ids, x, strict=False))

    def select(self, ids, x, y, importance):
        one = self.dtype(1)
        gamma = max(self.gamma / importance, 1e-10)
        touched = [j for j, value in zip(ids, x, strict=False) if value != 0]  # a value can be too small when scaled
        outsiders = [j for j in touched if j not in self.members]
        self.members.update(outsiders[: self.budget - len(self.members)])
        every = self.with_intercept(ids)
        is_member = np.array([j in self.members or j == INTERCEPT for j in every], bool)
        gain = x / np.array([one + self.excess[j] for j in every], self.dtype)
        counted = np.where(is_member, x, self.dtype(0))
        residual = y - total(np.array([self.weight[j] for j in every], self.dtype) * counted)
        variance = total(counted * gain)
        alpha = self.dtype(residual / (variance + gamma))
        self.last_step = self.dtype(residual), self.dtype(variance + gamma), self.dtype(1.0 / gamma)
        for i, j in enumerate(every):
            if is_member[i]:
                self.weight[j] = self.weight[j] + alpha * gain[i]
                self.excess[j] = self.excess[j] + x[i] * x[i] * self.dtype(1.0 / gamma)
            else:
                self.learn_outsider(j, x[i], self.weight, self.excess)
        for j in [j for j in touched if j not in self.members]:
            lowest = min(self.members - self.keep, key=lambda j: (self.rank(j), -j), default=None)
            if lowest is not None and self.rank(j) > self.rank(lowest):
                self.members = self.members - {lowest} | {j}

    def learn_outsider(self, j, value, weight, excess):
        """Take the last step for a feature as if it alone joined the members."""
        residual, common, inverse_gamma = self.last_step
        gain = value / (self.dtype(1) + excess[j])
        weight[j] = weight[j] + (residual - weight[j] * value) / (common + value * gain) * gain
        excess[j] = excess[j] + value * value * inverse_gamma

    def rank(self, j):
        return self.weight[j] * self.weight[j] * (self.dtype(1) + self.excess[j])

    @property
    def selected(self) -> list[int]:
        return sorted(self.members, key=lambda j: (-self.rank(j), j))


class FirstOrderOracle(Oracle):
    """w ← (1 − λη)·w + η·y·x, into the ball of radius 1/√λ; the intercept is added apart, and only steps."""

    def __init__(self, eta=1.0, lam=0.0, loss="hinge", **shared):
        super().__init__(**shared)
        self.eta, self.lam, self.loss = eta, lam, loss

    def score(self, v, ids, x):
        n = len(ids) - self.fit_intercept
        return super().score(v, ids[:n], x[:n]) + float(self.intercept[v])

    def has_loss(self, margin):
        return margin < 1.0 if self.loss == "hinge" else margin <= 0.0

    def learn(self, ids, x, pulls, margin, importance):
        for v in self.vectors:
            for j in self.weight[v]:
                if self.lam and j != INTERCEPT:
                    self.weight[v][j] *= self.dtype(1.0 - self.lam * self.eta)
        for v, pull in pulls:
            delta = self.dtype(pull * self.rate() * importance)
            for j, value in zip(ids, x, strict=True):
                if value != 0:
                    self.weight[v][j] = self.weight[v][j] + delta * value
        if self.lam:
            length = np.sqrt(sum(w**2 for v in self.vectors for j, w in self.weight[v].items() if j != INTERCEPT))
            if length > 1.0 / np.sqrt(self.lam):
                for v in self.vectors:
                    for j in self.weight[v]:
                        if j != INTERCEPT:
                            self.weight[v][j] *= self.dtype(1.0 / np.sqrt(self.lam) / length)

    def rate(self) -> float:
        return self.eta

    def rank_in(self, v, j):
        return abs(self.weight[v][j])


class PetOracle(FirstOrderOracle):
    def __init__(self, loss="perceptron", **rest):
        super().__init__(loss=loss, **rest)


class FofsOracle(FirstOrderOracle):
    """In float64 as Algorithm 1 says; in float32 with the product's lazy scalar, w = scale · what is stored.

    Else the two would break ties in different ways. The norm is summed again at every step.
    """

    def __init__(self, eta=0.2, lam=0.01, **rest):
        super().__init__(eta=eta, lam=lam, **rest)
        self.scale = 1.0

    @property
    def lazy(self) -> bool:
        return self.dtype is np.float32

    def score(self, v, ids, x):
        intercept = float(self.intercept[v])
        n = len(ids) - self.fit_intercept
        return self.scale * Oracle.score(self, v, ids[:n], x[:n]) + intercept

    def learn(self, ids, x, pulls, margin, importance):
        if not self.lazy:
            super().learn(ids, x, pulls, margin, importance)
            return
        decay = 1.0 - self.lam * self.eta
        if self.scale * decay < 2.0**-30:  # or stored weights could overflow; a power of two loses no digit
            self.fold(int(np.frexp(self.scale * decay)[1]))
        self.scale *= decay
        for v, pull in pulls:
            delta = pull * self.eta * importance
            for j, value in zip(ids, x, strict=True):
                if value != 0:
                    step = self.dtype(delta if j == INTERCEPT else delta / self.scale) * value
                    self.weight[v][j] = self.weight[v][j] + step
        stored = [float(w) for v in self.vectors for j, w in self.weight[v].items() if j != INTERCEPT]
        length = self.scale * np.sqrt(sum(w * w for w in stored))
        if length > 1.0 / np.sqrt(self.lam):
            self.scale *= 1.0 / np.sqrt(self.lam) / length

    def fold(self, exponent):
        self.scale = float(np.ldexp(self.scale, -exponent))
        for v in self.vectors:
            for j, w in self.weight[v].items():
                if j != INTERCEPT:
                    self.weight[v][j] = self.dtype(np.ldexp(float(w), exponent))

    @property
    def weights(self):
        return (super().weights.astype(np.float64) * self.scale).astype(self.dtype)


class OgdOracle(FirstOrderOracle):
    def rate(self):
        return self.eta / np.sqrt(self.n_rows)

    @property
    def selected(self):
        return [j for j in super().selected if self.rank(j) != 0]


ORACLES = {
    "SOFS": SofsOracle,
    "ShadowSOFS": ShadowSofsOracle,
    "PET": PetOracle,
    "FOFS": FofsOracle,
    "AROW": ArowOracle,
    "OGD": OgdOracle,
}
