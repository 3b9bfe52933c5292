"""The twin of Keratinocytes in numpy: the same decisions, and positions to rounding; see test_keratinocytes.py."""

import numpy as np

STEM, TRANSIT, COMMITTED = range(3)

WHOLE = ("kinds", "ages", "resting", "stem_contacts")


def cells(model, *names):
    """The rows of the cells, on the host."""
    return [model._cells[name].get()[: model.n] for name in names]


def philox(counter, key):
    """Four words each for counters (n, 4), as Salmon and others (2011) define them."""
    c, k = [counter[:, a].astype(np.uint64) for a in range(4)], [np.uint64(each) for each in key]
    word = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        first, second = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        high = np.uint64(32)
        c = [(second >> high) ^ c[1] ^ k[0], second & word, (first >> high) ^ c[3] ^ k[1], first & word]
        k = [(k[0] + np.uint64(0x9E3779B9)) & word, (k[1] + np.uint64(0xBB67AE85)) & word]
    return np.stack(c, axis=1)


def unit(words):
    return (words >> np.uint64(8)).astype(float) / 2**24


def below(words, most):
    """A whole number from 0 to `most`, for each word."""
    return ((words * np.asarray(most + 1, np.uint64)) >> np.uint64(32)).astype(int)


class Twin:
    """The same cells as a model has now, all pairs in float64."""

    def __init__(self, model):
        names = ("positions", "noise", "motility", "headings", *WHOLE)
        for name, values in zip(names, cells(model, *names), strict=True):
            setattr(self, name, values.astype(float if values.dtype.kind == "f" else int))
        self.rules, self.side, self.key, self.now = model.rules, model.side, model._key, model.steps_done

    def step(self):
        self.differentiate()
        self.divide(self.move(decides=True))
        self.now += 1

    def drawn(self, purpose, rows):
        rows = np.asarray(rows)
        counter = np.stack([rows, np.full_like(rows, self.now), np.full_like(rows, purpose), 0 * rows], axis=1)
        return philox(counter, self.key)

    def pairs(self, reach):
        towards = self.positions[None] - self.positions[:, None]
        distance = np.linalg.norm(towards, axis=2)
        return towards, distance, (distance <= reach) & ~np.eye(len(distance), dtype=bool)

    def differentiate(self):
        rules, kinds = self.rules, self.kinds
        towards, _, near = self.pairs(rules.signal_reach)
        near = near & (kinds == STEM)[None]
        semi = np.array([rules.niche_across, rules.niche_across, rules.niche_up])
        inside = ((towards / semi) ** 2).sum(axis=2) <= (self.noise**2)[:, None]
        crowded = (near.sum(axis=1) > rules.most_stem) & (self.stem_contacts <= rules.edge_contacts)
        raised = self.positions[:, 2] >= rules.basement
        alone = ~(near & inside).any(axis=1) | (self.resting >= rules.patience)
        self.kinds = np.where(
            (kinds == STEM) & (crowded | raised), TRANSIT, np.where((kinds == TRANSIT) & alone, COMMITTED, kinds)
        )

    def move(self, *, decides):
        rules, kinds, positions = self.rules, self.kinds, self.positions
        towards, distance, near = self.pairs(rules.contact_reach)
        level = near & (towards[..., 2] >= 0)
        lateral = (level & (towards[..., 2] <= 0.5)).sum(axis=1)
        walls = np.isin(positions[:, :2], [0, self.side]).sum(axis=1)
        contacts = level.sum(axis=1) + 2 * walls
        apart = np.where(near, distance, 1.0)
        like = (kinds[None] == kinds[:, None]) & (kinds != TRANSIT)[None]
        strength = np.where(apart < 1, rules.repulsion, np.where(like, rules.adhesion, rules.weak_adhesion))
        force = np.where(near, strength * (apart - 1) / apart, 0.0)
        step = (force[..., None] * towards).sum(axis=1)
        step[positions[:, 2] < rules.basement] *= np.array(rules.grip)[kinds][positions[:, 2] < rules.basement, None]
        step[:, 2] -= np.where(positions[:, 2] <= rules.pull_height, np.array(rules.pull)[kinds], 0.0)
        self.stem_contacts = (near & (kinds == STEM)[None]).sum(axis=1)
        divides = np.zeros(len(kinds), int)
        if decides:
            grows = contacts <= rules.most_contacts
            drawn = self.drawn(0, np.arange(len(kinds)))
            walks = (kinds == TRANSIT) & grows
            turns = walks & (drawn[:, 0] < 0x1999999A)
            headings = self.headings + np.where(turns, (2 * unit(drawn[:, 1]) - 1) / 4, 0)
            direction = np.stack([np.cos(np.pi * headings), np.sin(np.pi * headings)], axis=1)
            step[:, :2] += np.where(walks, rules.speed * self.motility, 0.0)[:, None] * direction
            there = (positions + step)[:, :2]
            headings += walks & ((there < 0) | (there > self.side)).any(axis=1)
            headings = np.where(headings > 1, headings - 2, np.where(headings < -1, headings + 2, headings))
            self.headings = np.where(walks, headings, self.headings)
            cycles = np.where(kinds == STEM, rules.stem_cycle, rules.transit_cycle)
            ages = self.ages + grows
            divides = np.where((kinds != COMMITTED) & (ages > cycles), 1 + (lateral >= rules.most_lateral), 0)
            self.ages = np.where(divides, below(drawn[:, 2], cycles // 4), ages)
            self.resting = np.where(grows, 0, self.resting + 1)
        self.positions = np.clip(positions + step, 0, [self.side, self.side, np.inf])
        return divides

    def divide(self, divides):
        mothers = np.flatnonzero(divides)
        a, b = (self.drawn(purpose, mothers) for purpose in (1, 2))
        around = 2 * np.pi * unit(a[:, 0])
        offset = 0.1 * np.stack([np.cos(around), np.sin(around), (divides[mothers] == 2) * (1 - unit(a[:, 1]))], axis=1)
        born = np.clip(self.positions[mothers] + offset, 0, [self.side, self.side, np.inf])
        cycles = np.where(self.kinds[mothers] == STEM, self.rules.stem_cycle, self.rules.transit_cycle)
        rows = {
            "positions": born,
            "kinds": self.kinds[mothers],
            "ages": below(a[:, 2], cycles // 4),
            "resting": np.zeros(len(mothers), int),
            "stem_contacts": self.stem_contacts[mothers],
            "noise": 0.9 + 0.2 * unit(a[:, 3]),
            "motility": 0.5 + 0.5 * unit(b[:, 0]),
            "headings": 2 * unit(b[:, 1]) - 1,
        }
        for name, values in rows.items():
            setattr(self, name, np.concatenate([getattr(self, name), values]))

    def energy(self):
        rules, kinds = self.rules, self.kinds
        _, distance, near = self.pairs(rules.contact_reach)
        like = (kinds[None] == kinds[:, None]) & (kinds != TRANSIT)[None]
        bond = np.where(like, rules.adhesion, rules.weak_adhesion)
        strength = np.where(distance < 1, rules.repulsion, bond)
        each = strength * (distance - 1) ** 2 - bond * (rules.contact_reach - 1) ** 2
        pull = np.array(rules.pull)[kinds] * np.minimum(self.positions[:, 2], rules.pull_height)
        return np.where(near, each, 0).sum() / 4 + pull.sum()
