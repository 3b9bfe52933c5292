"""The twin of Fluid in numpy: all pairs, and images of all particles behind all walls; see test_fluid.py."""

import itertools

import numpy as np


class Twin:
    """The same fluid in numpy and float64: all pairs, and images of all particles behind all walls."""

    def __init__(self, model):
        self.positions, self.velocities = (each.get().astype(float) for each in (model.positions, model.velocities))
        self.reach, self.tank, self.sound, self.gravity = model.reach, model.tank, model.sound, model.gravity
        self.rest, self.viscosity = model.rest_density, model.viscosity
        steps = model.column / [np.round(length / model.spacing) for length in model.column]
        around = np.stack(np.meshgrid(*[step * np.arange(-4, 5) for step in steps]), axis=-1)
        self.scale = self.rest / self.weight(np.linalg.norm(around, axis=-1)).sum()
        self.time, self.fastest, self.hardest = 0.0, 0.0, self.gravity

    def weight(self, distance):
        share = np.minimum(distance / self.reach, 1)
        return (1 - share) ** 4 * (1 + 4 * share)

    def mirrored(self, values, lengths):
        """All of `values`, and their images behind the lower and the upper end of each axis."""
        found = []
        for ends in itertools.product((None, 0, 1), repeat=len(self.tank)):
            image = values.copy()
            for axis, end in enumerate(ends):
                if end is not None:
                    image[:, axis] = 2 * end * lengths[axis] - image[:, axis]
            found.append(image)
        return np.concatenate(found)

    def density(self):
        places = self.mirrored(self.positions, self.tank)
        apart = places[None] - self.positions[:, None]
        return self.scale * self.weight(np.linalg.norm(apart, axis=2)).sum(axis=1), apart

    def step(self):
        density, apart = self.density()
        stress = np.maximum(0, self.sound**2 * self.rest / 7 * ((density / self.rest) ** 7 - 1)) / density**2
        h, images = self.reach / 2, 3 ** len(self.tank)
        signal = self.sound * (1 + 0.6 * self.viscosity) + self.fastest
        dt = 0.4 * min(h / signal, np.sqrt(h / self.hardest))
        towards = self.mirrored(self.velocities, 0 * self.tank)[None] - self.velocities[:, None]
        square = (apart**2).sum(axis=2)
        meeting = np.minimum((apart * towards).sum(axis=2), 0)
        both = stress[:, None] + np.tile(stress, images)[None]
        both -= self.viscosity * self.sound * h / self.rest * meeting / (square + 0.01 * h * h)
        slope = 20 / self.reach**2 * self.scale * np.maximum(0, 1 - np.sqrt(square) / self.reach) ** 3
        force = -((both * slope)[..., None] * apart).sum(axis=1)
        force[:, -1] -= self.gravity
        self.velocities = self.velocities + dt * force
        self.positions = self.positions + dt * self.velocities
        for end, outside in ((0, self.positions < 0), (1, self.positions > self.tank)):
            self.positions = np.where(outside, 2 * end * self.tank - self.positions, self.positions)
            self.velocities = np.where(outside, -self.velocities, self.velocities)
        self.fastest, self.hardest = (largest(each) for each in (self.velocities, force))
        self.time += dt


def largest(vectors):
    """The length of the longest, whose square the device rounds up to float32."""
    square = (vectors**2).sum(axis=1).max()
    rounded = np.float32(square)
    return float(rounded if rounded >= square else np.nextafter(rounded, np.float32(np.inf))) ** 0.5
