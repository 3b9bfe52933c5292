"""The twin of Pedestrians in numpy: the paper's forces as differences of its potentials; see test_pedestrians.py."""

import numpy as np

#: The paper's numbers, in meters and seconds.
TAU, V0, SIGMA, STRIDE, U0, R, BEHIND, SIGHT = 0.5, 2.1, 0.3, 2.0, 10.0, 0.2, 0.5, np.cos(np.radians(100))

#: How near a goal counts as reached.
REACH = 1.2


def length(vectors):
    return np.linalg.norm(vectors, axis=-1, keepdims=True)


def unit(vectors):
    size = length(vectors)
    return vectors / np.where(size > 0, size, 1)


def on_segments(places, segments):
    """The nearest point of each segment, and how far along it is; both broadcast."""
    first, span = segments[..., 0, :], segments[..., 1, :] - segments[..., 0, :]
    square = (span**2).sum(-1, keepdims=True)
    along = np.clip(((places - first) * span).sum(-1, keepdims=True) / np.where(square > 0, square, 1), 0, 1)
    return first + along * span, along


def potential(apart, stride):
    """What a pedestrian is in another's field, by the paper's formula: `apart` from it, which makes `stride`."""
    longer = length(apart)[..., 0] + length(apart - stride)[..., 0]
    return V0 * np.exp(-0.5 * np.sqrt(np.maximum(longer**2 - (stride**2).sum(-1), 0)) / SIGMA)


def gradient(field, places, step=1e-5):
    """Of a scalar field at places in the plane, by central differences."""
    return np.stack([(field(places + by) - field(places - by)) / (2 * step) for by in step * np.eye(2)], axis=-1)


class Twin:
    """The same crowd over all pairs in float64, its pushes the differences of the potentials."""

    def __init__(self, model, walls, goals, entries):
        self.model, self.walls = model, np.asarray(walls, float)
        group = model.groups.get()
        self.goals, self.entries = np.asarray(goals, float)[group], np.asarray(entries, float)[group]
        arrays = (model.positions, model.velocities, model.strides, model.speeds)
        self.places, self.velocities, self.strides, self.speeds = (array.get().astype(float) for array in arrays)
        self.arrivals = np.zeros(model.n, int)

    def step(self):
        ahead = unit(on_segments(self.places, self.goals)[0] - self.places)
        apart = self.places[:, None] - self.places[None]
        others = np.broadcast_to(self.strides[None], apart.shape)
        pushes = -gradient(lambda where: potential(where, others), apart)
        seen = (ahead[:, None] * -pushes).sum(-1) >= SIGHT * length(pushes)[..., 0]
        near = (length(apart)[..., 0] <= self.model.radius) & ~np.eye(len(apart), dtype=bool)
        push = (np.where(near, np.where(seen, 1, BEHIND), 0)[..., None] * np.where(near[..., None], pushes, 0)).sum(1)
        away = self.places[:, None] - on_segments(self.places[:, None], self.walls[None])[0]
        push += (U0 / R * np.exp(-length(away) / R) * unit(away)).sum(1)

        wanted, decay = self.speeds[:, None] * ahead, np.exp(-self.model.dt / TAU)
        velocities = wanted + decay * (self.velocities - wanted) + TAU * (1 - decay) * push
        self.velocities = velocities * np.minimum(1, 1.3 * self.speeds[:, None] / length(velocities))
        self.places = self.places + self.model.dt * self.velocities
        target, along = on_segments(self.places, self.goals)
        there = length(target - self.places) <= REACH
        self.places = np.where(
            there, self.entries[:, 0] + along * (self.entries[:, 1] - self.entries[:, 0]), self.places
        )
        self.arrivals += there[:, 0]
        ahead = unit(on_segments(self.places, self.goals)[0] - self.places)
        self.strides = STRIDE * length(self.velocities) * ahead
